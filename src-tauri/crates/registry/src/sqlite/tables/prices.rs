//! Prices of models, one row for each. There are few of them, and they are read whole.
//!
//! It computes no cost (`domain::budget::price`).

use domain::audit::AuditEvent;
use domain::budget::price::{Price, Rate};
use domain::ids::PersonId;
use domain::ports::{PriceUnit, RegistryError};
use domain::time::Timestamp;
use sqlx::Row;

use crate::codec::DecodeError;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

/// Prices read at most; the limit only keeps a damaged file from filling the memory.
const PRICES_MAX: u32 = 100_000;

/// A price, ready to write.
#[derive(Debug)]
pub(crate) struct PriceRow {
    price: Price,
    remove: bool,
    pub(crate) audit: Vec<AuditEvent>,
}

impl PriceRow {
    pub(crate) fn of(unit: PriceUnit) -> Self {
        let PriceUnit { price, remove, audit } = unit;
        Self { price, remove, audit }
    }

    pub(crate) fn is_removal(&self) -> bool {
        self.remove
    }
}

/// Puts a price in place of the one of its model, or removes that one.
pub(crate) fn put(batch: &mut StatementBatch, row: &PriceRow) {
    let Price { model, input, output, currency, set_at, set_by } = &row.price;
    if row.remove {
        batch.add("DELETE FROM prices WHERE model = ?").with(model.to_string());
        return;
    }
    batch
        .add(
            "INSERT INTO prices (model, input, output, currency, set_at, set_by) VALUES (?, ?, ?, ?, ?, ?) \
             ON CONFLICT (model) DO UPDATE SET input = excluded.input, output = excluded.output, \
             currency = excluded.currency, set_at = excluded.set_at, set_by = excluded.set_by",
        )
        .with(model.to_string())
        .with(whole(input.micros()))
        .with(whole(output.micros()))
        .with(currency.to_string())
        .with(set_at.as_millis())
        .with(set_by.to_string());
}

impl SqliteRegistry {
    /// All prices, by model.
    pub(crate) async fn read_prices(&self) -> Result<Vec<Price>, RegistryError> {
        let failed = || self.base.failed("read prices");
        let mut reader = self.reader().await?;
        let found =
            sqlx::query("SELECT model, input, output, currency, set_at, set_by FROM prices ORDER BY model LIMIT ?")
                .bind(PRICES_MAX)
                .fetch_all(&mut *reader)
                .await
                .map_err(failed())?;
        let mut prices = Vec::with_capacity(found.len());
        for row in &found {
            let model: &str = row.try_get(0).map_err(failed())?;
            let currency: &str = row.try_get(3).map_err(failed())?;
            let set_by: String = row.try_get(5).map_err(failed())?;
            let bad = || StoreContext::bad_row("read `prices`", model, &DecodeError::new("currency", "does not read"));
            prices.push(Price {
                model: model.into(),
                input: Rate::from_micros(unsigned(row.try_get(1).map_err(failed())?)),
                output: Rate::from_micros(unsigned(row.try_get(2).map_err(failed())?)),
                currency: currency.parse().map_err(|_| bad())?,
                set_at: Timestamp::from_millis(row.try_get(4).map_err(failed())?),
                set_by: PersonId::new(set_by),
            });
        }
        Ok(prices)
    }
}
