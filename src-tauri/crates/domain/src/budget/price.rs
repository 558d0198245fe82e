//! What tokens of a model cost, as a person set it.
//!
//! No price is built in: a list of makers' prices would age without anybody noticing. Amounts are whole millionths of a
//! currency, costs are sums of whole products, so that nothing is lost by rounding before a figure is shown.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::ids::PersonId;
use crate::time::Timestamp;

/// Millionths in one unit of a currency.
const MICROS: u64 = 1_000_000;
/// Tokens that a price is given for: how all makers give theirs.
const TOKENS_PRICED: u128 = 1_000_000;
/// Digits after the point of an amount that are kept.
const DECIMALS: usize = 6;
/// The most that a million tokens may cost. Judgement: far above every price, so that a slip of the hand is noticed.
const UNITS_MAX: u64 = 1_000_000;

/// A currency by its three letters, such as `USD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

/// The text is not three letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a currency is three letters")]
pub struct BadCurrency;

impl FromStr for Currency {
    type Err = BadCurrency;

    fn from_str(text: &str) -> Result<Self, BadCurrency> {
        let letters: [u8; 3] = text.as_bytes().try_into().map_err(|_| BadCurrency)?;
        if letters.iter().all(u8::is_ascii_alphabetic) {
            Ok(Self(letters.map(|letter| letter.to_ascii_uppercase())))
        } else {
            Err(BadCurrency)
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(out, "{}", char::from(*letter)))
    }
}

/// What a million tokens cost, in millionths of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

/// Why a text is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadRate {
    #[error("an amount is digits with at most one point")]
    NotANumber,
    #[error("an amount has at most six digits after its point")]
    TooFine,
    #[error("an amount is at most a million")]
    TooLarge,
}

impl Rate {
    /// From what is stored; more than can be set becomes the most that can be.
    #[must_use]
    pub fn from_micros(micros: u64) -> Self {
        Self(micros.min(UNITS_MAX * MICROS))
    }

    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// What so many tokens cost.
    #[must_use]
    pub fn of(self, tokens: u64) -> Cost {
        Cost(u128::from(tokens) * u128::from(self.0))
    }
}

impl FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Self, BadRate> {
        let (units, rest) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number(units) || !is_number(rest) || units.len().saturating_add(rest.len()) == 0 {
            return Err(BadRate::NotANumber);
        }
        let rest = rest.trim_end_matches('0');
        if rest.len() > DECIMALS {
            return Err(BadRate::TooFine);
        }
        let units = units.trim_start_matches('0');
        let units: u64 = if units.is_empty() { 0 } else { units.parse().map_err(|_| BadRate::TooLarge)? };
        let micros = format!("{rest:0<DECIMALS$}").parse::<u64>().map_err(|_| BadRate::NotANumber)?;
        match units.checked_mul(MICROS).and_then(|units| units.checked_add(micros)) {
            Some(all) if all <= UNITS_MAX * MICROS => Ok(Self(all)),
            Some(_) | None => Err(BadRate::TooLarge),
        }
    }
}

/// `3.00`, `0.075`: two digits after the point, more where they are not zero.
impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = format!("{:0>DECIMALS$}", self.0 % MICROS);
        let rest = rest.trim_end_matches('0');
        write!(out, "{}.{rest:0<2}", self.0 / MICROS)
    }
}

/// What tokens cost: whole products of tokens and rates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(u128);

impl Cost {
    /// In millionths of its currency, rounded up: a cost is never shown below what it is.
    #[must_use]
    pub fn micros(self) -> u64 {
        u64::try_from(self.0.div_ceil(TOKENS_PRICED)).unwrap_or(u64::MAX)
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// What the tokens of one model cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// The name of the model, as [`model_key`] makes it.
    pub model: Arc<str>,
    /// Of what the model reads: tool definitions, results, prompts and task notices.
    pub input: Rate,
    /// Of what it writes: names and arguments of calls.
    pub output: Rate,
    pub currency: Currency,
    pub set_at: Timestamp,
    pub set_by: PersonId,
}

/// The name under which a model has its price: in lower case and without the date of its version. Nothing else is cut,
/// because a longer name may be a model of another price.
#[must_use]
pub fn model_key(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let is_digits = |text: &str, many: usize| text.len() == many && text.bytes().all(|digit| digit.is_ascii_digit());
    let parts: Vec<&str> = name.split('-').collect();
    let kept = match parts.as_slice() {
        [kept @ .., date] if is_digits(date, 8) => kept,
        [kept @ .., year, month, day] if is_digits(year, 4) && is_digits(month, 2) && is_digits(day, 2) => kept,
        all => all,
    };
    if kept.is_empty() { name } else { kept.join("-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_reads_as_it_is_written_and_nothing_is_rounded() {
        for (text, micros, shown) in [
            ("3", 3_000_000, "3.00"),
            ("0.075", 75_000, "0.075"),
            (".5", 500_000, "0.50"),
            ("15.0000000", 15_000_000, "15.00"),
            ("0", 0, "0.00"),
            ("1000000", 1_000_000_000_000, "1000000.00"),
        ] {
            let rate: Rate = text.parse().expect("an amount");
            assert_eq!((rate.micros(), rate.to_string().as_str()), (micros, shown), "`{text}`");
        }
        for (text, why) in [
            ("", BadRate::NotANumber),
            (".", BadRate::NotANumber),
            ("3,50", BadRate::NotANumber),
            ("-1", BadRate::NotANumber),
            ("1e3", BadRate::NotANumber),
            ("0.0000001", BadRate::TooFine),
            ("1000000.01", BadRate::TooLarge),
            ("99999999999999999999", BadRate::TooLarge),
        ] {
            assert_eq!(text.parse::<Rate>(), Err(why), "`{text}`");
        }
    }

    #[test]
    fn a_currency_is_three_letters_in_any_case() {
        assert_eq!("usd".parse::<Currency>().map(|one| one.to_string()), Ok("USD".into()));
        for bad in ["", "US", "USDT", "U1D", "€", "  €"] {
            assert_eq!(bad.parse::<Currency>(), Err(BadCurrency), "`{bad}`");
        }
    }

    #[test]
    fn a_cost_is_exact_over_many_small_parts_and_never_shown_below_what_it_is() {
        let rate: Rate = "0.30".parse().expect("an amount");
        let many = (0..1_000_000).fold(Cost::default(), |sum, _| sum + rate.of(1));
        assert_eq!(many, rate.of(1_000_000), "the parts are the whole");
        assert_eq!(many.micros(), 300_000);
        assert_eq!(rate.of(1).micros(), 1, "less than a millionth is shown as one");
        assert_eq!(Rate::from_micros(u64::MAX).of(u64::MAX).micros(), u64::MAX, "the most there can be");
    }

    #[test]
    fn a_price_is_of_a_model_and_its_dated_versions_and_of_no_longer_name() {
        for (name, key) in [
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            ("GPT-5.4-mini-2026-03-17", "gpt-5.4-mini"),
            ("gpt-5.4-mini", "gpt-5.4-mini"),
            ("gpt-4-0613", "gpt-4-0613"),
            ("20250929", "20250929"),
        ] {
            assert_eq!(model_key(name), key);
        }
        assert_ne!(model_key("gpt-5"), model_key("gpt-5-mini"));
    }
}
