//! Verdicts by table, one situation each; `properties` holds what must be true of every table.

mod needed;
mod proof;
mod properties;
mod whose;

use crate::testing::Table;

/// npm exec -> sh -c -> node at 10, 11, 12, all on the same hung-up pipe.
fn npx(table: &mut Table, parent: i32) {
    table.add(10, parent, "'npm exec mysql-mcp-server'");
    table.add(11, 10, "sh -c mysql-mcp-server").stdio_of(10);
    table.add(12, 11, "node /h/.npm/_npx/1/node_modules/.bin/mysql-mcp-server").stdio_of(10);
}

fn orphan() -> Table {
    let mut table = Table::new();
    npx(&mut table, 1);
    table
}
