//! An example KRM function: passes its resources on and reports how many of each
//! kind there are. It shows all that a function is: a ResourceList on standard
//! input, one on standard output, and a log on standard error.

use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write as _},
    process::ExitCode,
};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("count-resources: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)?;
    let list = krm::resource_list::read(&input).map_err(|reason| reason.to_string())?;
    if !list.results.is_empty() {
        return Err("the list has results already".into());
    }
    let items = list
        .items
        .ok_or("only lists in block style can be counted")?;
    let kinds = count(items);
    eprintln!("{} resources seen", kinds.values().sum::<usize>());

    let mut output = io::stdout().lock();
    output.write_all(&input)?;
    writeln!(output, "results:")?;
    for (kind, number) in kinds {
        writeln!(output, "- message: \"{number} {kind}\"\n  severity: info")?;
    }
    Ok(())
}

/// How many entries of a block list have which kind. An entry's own fields are
/// where its first one is; what is further right belongs to something below.
fn count(items: &str) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    let mut fields_at = None;
    for line in items.lines() {
        let field = line.trim_start().trim_start_matches("- ");
        let column = line.len() - field.len();
        if line.trim_start().starts_with("- ") && fields_at.is_none_or(|at| column <= at) {
            fields_at = Some(column);
        }
        if let Some(kind) = field
            .strip_prefix("kind: ")
            .filter(|_| fields_at == Some(column))
        {
            *kinds.entry(kind.trim()).or_default() += 1;
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn kinds_are_counted_per_entry_and_not_below() {
        let items = "\n- apiVersion: v1\n  kind: A\n  spec:\n    kind: X\n    list:\n    - kind: Y\n\
                     - kind: B\n- kind: A\n";
        assert_eq!(
            count(items).into_iter().collect::<Vec<_>>(),
            [("A", 2), ("B", 1)]
        );
    }
}
