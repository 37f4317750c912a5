//! A command's flags as a page of text.

use std::{
    fmt::Write as _,
    io::{Write as _, stdout},
};

use crate::{Group, Takes};

/// How wide the page is, and where descriptions begin.
const WIDTH: usize = 100;
const MARGIN: usize = 8;

/// The flags of `groups`, each group under its title.
pub fn help(groups: &[Group]) -> String {
    let mut page = String::new();
    for group in groups {
        let _ = writeln!(page, "\n{}:", group.title);
        for flag in group.flags {
            let value = match flag.takes {
                Takes::Switch => String::new(),
                Takes::Value(name) => format!(" {name}"),
            };
            let default = match flag.default {
                "" => String::new(),
                default => format!(" (default {default})"),
            };
            let _ = writeln!(page, "  --{}{value}{default}", flag.name);
            wrap(&mut page, flag.help);
        }
    }
    page
}

fn wrap(page: &mut String, text: &str) {
    let mut column = 0;
    for word in text.split_whitespace() {
        if column > 0 && column + 1 + word.len() > WIDTH - MARGIN {
            page.push('\n');
            column = 0;
        }
        if column == 0 {
            page.push_str(&" ".repeat(MARGIN));
        } else {
            page.push(' ');
            column += 1;
        }
        page.push_str(word);
        column += word.len();
    }
    page.push('\n');
}

/// Shows a help. A reader that stops early, such as `head`, does not cause an error.
pub fn show(text: &str) {
    let _ = stdout().write_all(text.as_bytes());
}
