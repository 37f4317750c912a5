//! What Masterminds' semver v3.4.0 answers, case by case.

use versions::{Constraint, Version};

#[test]
fn constraints_mean_what_they_mean_to_porch() {
    let mut lines = include_str!("golden.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let versions: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let mut differences = Vec::new();
    let mut cases = 0;
    for line in lines {
        let (text, expected) = line.split_once('\t').unwrap();
        let answer = answer(text, &versions);
        cases += 1;
        if answer != expected {
            differences.push(format!("{text:?}: {answer} instead of {expected}"));
        }
    }
    assert!(cases > 200);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn answer(text: &str, versions: &[&str]) -> String {
    let Ok(constraint) = text.parse::<Constraint>() else {
        return "invalid".to_owned();
    };
    let letter = |text: &&str| match text.parse::<Version>() {
        Err(_) => 'v',
        Ok(version) if constraint.check(&version).is_ok() => '1',
        Ok(_) => '0',
    };
    versions.iter().map(letter).collect()
}
