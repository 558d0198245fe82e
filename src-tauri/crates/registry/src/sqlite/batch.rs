//! Several statements as one text with one list of values: one trip to the connection's thread instead of many.
//!
//! Batches of the same shape have the same text, so their prepared statements are reused. Only `?` placeholders, filled in
//! order over the whole batch. Texts are ours alone; values never become text.

use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Arguments, AssertSqlSafe, Encode, Sqlite, Type};

/// A batch being written.
#[derive(Default)]
pub(crate) struct StatementBatch {
    sql: String,
    values: SqliteArguments,
    statements: usize,
    refused: Option<sqlx::error::BoxDynError>,
}

impl StatementBatch {
    /// Adds one statement; its values follow by [`StatementBatch::with`].
    pub(crate) fn add(&mut self, statement: &str) -> &mut Self {
        if self.statements > 0 {
            self.sql.push_str(";\n");
        }
        self.sql.push_str(statement);
        self.statements += 1;
        self
    }

    /// The next value.
    pub(crate) fn with<'q, T: Encode<'q, Sqlite> + Type<Sqlite> + 'q>(&mut self, value: T) -> &mut Self {
        if let Err(error) = self.values.add(value) {
            self.refused.get_or_insert(error);
        }
        self
    }

    /// The next value, where no further one follows in the same expression.
    pub(crate) fn add_value<'q, T: Encode<'q, Sqlite> + Type<Sqlite> + 'q>(&mut self, value: T) {
        self.with(value);
    }

    /// How many statements it has.
    pub(crate) fn statements(&self) -> usize {
        self.statements
    }

    /// Runs it; rows are thrown away.
    pub(crate) async fn run(self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        if self.statements == 0 {
            return Ok(());
        }
        if let Some(error) = self.refused {
            return Err(sqlx::Error::Encode(error));
        }
        sqlx::query_with(AssertSqlSafe(self.sql), self.values).execute(connection).await.map(|_| ())
    }

    /// Runs it and gives the rows of all its statements.
    pub(crate) async fn rows(self, connection: &mut SqliteConnection) -> Result<Vec<SqliteRow>, sqlx::Error> {
        if let Some(error) = self.refused {
            return Err(sqlx::Error::Encode(error));
        }
        sqlx::query_with(AssertSqlSafe(self.sql), self.values).fetch_all(connection).await
    }
}
