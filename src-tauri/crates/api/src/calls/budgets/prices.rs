//! Prices of models: only people set them, and each says when it was set.
//!
//! No price is built in, and none is read from anywhere. What tokens cost is computed in `today.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::budget::names::full_name;
use domain::budget::price::{BadRate, Currency, Price, Rate, model_key};
use domain::ports::PriceUnit;

use super::known_model;
use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::dto::budget::price::{ModelName, PriceDto, PriceList, RemovePrice, SetPrice};
use crate::error::{ApiError, Code};
use crate::lookup::short;
use crate::suggestion::did_you_mean;

impl Api {
    /// All prices, and the models of agents that have none.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn price_list(&self, _caller: &Caller, _input: Nothing) -> Result<PriceList, ApiError> {
        let prices = self.registry.prices().await?;
        let mut unpriced: BTreeMap<String, String> = BTreeMap::new();
        for agent in self.registry.agents().await?.iter().filter(|agent| agent.revoked.is_none()) {
            let Some(key) = agent.meter.model.as_deref().map(model_key) else { continue };
            if !prices.iter().any(|price| *price.model == *key) {
                unpriced.insert(key.clone(), full_name(&key));
            }
        }
        Ok(PriceList {
            prices: prices.iter().map(PriceDto::from).collect(),
            unpriced: unpriced.into_iter().map(|(model, label)| ModelName { model, label }).collect(),
        })
    }

    /// Sets what tokens of a model cost.
    ///
    /// # Errors
    /// When the model is unknown, an amount or the currency cannot be read, or it cannot be recorded.
    pub async fn price_set(&self, caller: &Caller, input: SetPrice) -> Result<PriceList, ApiError> {
        self.live()?;
        let price = Price {
            model: model_key(&known_model(&input.model)?).into(),
            input: rate("input", &input.input)?,
            output: rate("output", &input.output)?,
            currency: currency(&input.currency)?,
            set_at: self.now(),
            set_by: caller.person.clone(),
        };
        let note = format!(
            "price of {}: {} for a million tokens it reads, {} for a million it writes, {}",
            price.model, price.input, price.output, price.currency
        );
        self.put_price(caller, price, false, note).await
    }

    /// Takes the price of a model away.
    ///
    /// # Errors
    /// When it has none, or it cannot be recorded.
    pub async fn price_remove(&self, caller: &Caller, input: RemovePrice) -> Result<PriceList, ApiError> {
        self.live()?;
        let key = model_key(&input.model);
        let mut prices = self.registry.prices().await?;
        let Some(at) = prices.iter().position(|price| *price.model == *key) else {
            let known: Vec<Arc<str>> = prices.into_iter().map(|price| price.model).collect();
            return Err(ApiError::new(
                Code::NotFound,
                format!("model `{}` has no price", short(&input.model)),
                did_you_mean(&key, known.iter().map(AsRef::as_ref))
                    .unwrap_or_else(|| "`taskwarden budget price` lists the prices that are set.".into()),
            ));
        };
        let price = prices.swap_remove(at);
        let note = format!("no price of {} any more", price.model);
        self.put_price(caller, price, true, note).await
    }

    async fn put_price(
        &self,
        caller: &Caller,
        price: Price,
        remove: bool,
        note: String,
    ) -> Result<PriceList, ApiError> {
        let (at, actor) = (self.now(), Actor::Person(caller.person.clone()));
        let fact = AuditEvent { at, actor, verb: Verb::BudgetChanged, subject: Subject::Store, note };
        self.registry.put_price(PriceUnit { price, remove, audit: vec![fact] }).await?;
        self.price_list(caller, Nothing {}).await
    }
}

fn rate(field: &str, text: &str) -> Result<Rate, ApiError> {
    text.trim().parse().map_err(|why: BadRate| {
        ApiError::new(
            Code::Usage,
            format!("`{}` is not a price for `{field}`: {why}", short(text)),
            "Write the price of a million tokens as digits with a point, such as `3` or `0.075`.",
        )
    })
}

fn currency(text: &str) -> Result<Currency, ApiError> {
    text.trim().parse().map_err(|_| {
        ApiError::new(
            Code::Usage,
            format!("`{}` is not a currency", short(text)),
            "Write its three letters, such as `USD` or `EUR`.",
        )
    })
}
