//! `taskwarden budget price`: what a million tokens of a model cost, as a person sets it.
//!
//! No price is built in. What agents cost is computed by the core (`api::calls::budgets::today`).

use api::calls::Nothing;
use api::dto::budget::price::{PriceDto, PriceList, RemovePrice, SetPrice};
use api::dto::moment;
use api::format::time;
use clap::{ArgGroup, Args};

use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{self, one_line};
use crate::cli::output::table::{self, TableCell, TableLayout, text};
use crate::config::Config;

/// Examples below the help.
const EXAMPLES: &str = "\
Examples:
  taskwarden budget price                                       all prices, each with its date
  taskwarden budget price gpt-5 --input 1.25 --output 10 --currency USD
  taskwarden budget price gpt-5 --remove

Prices are for a million tokens. Taskwarden knows none by itself; the window shows costs where one is set.";

/// The price of a model, or all prices.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group(ArgGroup::new("amounts").multiple(true).args(["input", "output", "currency"]).requires_all(["model", "input", "output", "currency"])))]
pub(super) struct PriceArgs {
    /// The model, such as `claude-opus-4-7`. Dated versions of it have the same price.
    model: Option<String>,
    /// What a million tokens that it reads cost, such as `3` or `0.075`.
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    input: Option<String>,
    /// What a million tokens that it writes cost.
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    output: Option<String>,
    /// The currency in three letters, such as `USD`.
    #[arg(long, value_name = "LETTERS")]
    currency: Option<String>,
    /// Remove the price.
    #[arg(long, requires = "model", conflicts_with = "amounts")]
    remove: bool,
}

pub(super) async fn run(command: PriceArgs, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        PriceArgs {
            model: Some(model), input: Some(input), output: Some(output), currency: Some(currency), ..
        } => {
            let price = SetPrice { model, input, output, currency };
            let list: PriceList = CoreClient::attach(config)?.request("budgets.setPrice", &price).await?;
            changed(&list, "The price is set.", screen)
        }
        PriceArgs { model: Some(model), remove: true, .. } => {
            let list: PriceList =
                CoreClient::attach(config)?.request("budgets.removePrice", &RemovePrice { model }).await?;
            changed(&list, "The price was removed.", screen)
        }
        PriceArgs { model, .. } => {
            let core = CoreClient::attach_or_read(config).await?;
            let mut list: PriceList = core.request("budgets.prices", &Nothing {}).await?;
            if let Some(model) = model {
                let key = domain::budget::price::model_key(&model);
                list.prices.retain(|price| price.model == key);
                list.unpriced.retain(|one| one.model == key);
            }
            print(&list, screen)
        }
    }
}

fn changed(list: &PriceList, text: &str, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(list);
    }
    screen.line(text);
    Ok(DONE)
}

fn print(list: &PriceList, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(list);
    }
    if list.prices.is_empty() {
        screen.line("No price is set. `taskwarden budget price MODEL --input … --output … --currency …` sets one.");
    } else {
        let header = &["MODEL", "NAME", "READ", "WRITTEN", "CURRENCY", "SET", "BY"];
        let layout = TableLayout { header, cut: &["NAME"], spare: &["BY", "NAME"] };
        table::print(screen, layout, list.prices.iter().map(row).collect());
        screen.note("Prices are for a million tokens.");
    }
    for one in &list.unpriced {
        screen.note(&format!("{} is used by an agent and has no price.", one_line(&one.model)));
    }
    Ok(DONE)
}

fn row(price: &PriceDto) -> Vec<TableCell> {
    let set = moment(&price.set_at).map(|at| time::ago(at, sentences::now())).unwrap_or_default();
    vec![
        text(one_line(&price.model)),
        text(one_line(&price.label)),
        text(one_line(&price.input)),
        text(one_line(&price.output)),
        text(one_line(&price.currency)),
        text(set),
        text(one_line(&price.set_by)),
    ]
}
