//! Prices that people set, and costs by them, as JSON shows them.
//!
//! A price is decimal text, as it was typed; a cost is whole millionths of its currency. Nothing is a fraction of a
//! machine's number.

use domain::budget::names::full_name;
use domain::budget::price::Price;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ExactnessDto;
use crate::dto::iso;

/// What tokens of one model cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PriceDto {
    /// The model, such as `claude-opus-4-7`; dated versions of it have the same price.
    pub model: String,
    /// Its maker and full name.
    pub label: String,
    /// For a million tokens that it reads, as decimal text: `3.00`.
    pub input: String,
    /// For a million tokens that it writes.
    pub output: String,
    /// Three letters, such as `USD`.
    pub currency: String,
    /// When a person set it.
    pub set_at: String,
    pub set_by: String,
}

impl From<&Price> for PriceDto {
    fn from(price: &Price) -> Self {
        Self {
            model: price.model.to_string(),
            label: full_name(&price.model),
            input: price.input.to_string(),
            output: price.output.to_string(),
            currency: price.currency.to_string(),
            set_at: iso(price.set_at),
            set_by: price.set_by.to_string(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PriceList {
    pub prices: Vec<PriceDto>,
    /// Models that are set for agents with access and have no price, by name.
    pub unpriced: Vec<ModelName>,
}

/// A model by its two names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelName {
    pub model: String,
    /// Its maker and full name.
    pub label: String,
}

/// A price to set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetPrice {
    pub model: String,
    /// For a million tokens that the model reads, such as `3` or `0.075`.
    pub input: String,
    /// For a million tokens that it writes.
    pub output: String,
    /// Three letters, such as `USD`.
    pub currency: String,
}

/// A model whose price goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemovePrice {
    pub model: String,
}

/// What tokens cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CostDto {
    pub currency: String,
    /// Millionths of the currency.
    pub micros: u64,
    /// As exact as the tokens.
    pub exactness: ExactnessDto,
}
