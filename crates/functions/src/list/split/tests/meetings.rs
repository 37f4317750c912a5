//! Where two objects meet: a comment there may belong to either, and what the first one ends
//! with decides that. Each end stands before each beginning, between objects that stay text.

use super::{HEAD, compare, indented};
use crate::yaml::SequenceIndent::{Compact, Wide};

const TEXT: &str = "- a: b\n  c:\n  - d # e\n";

/// How an object goes on that is not as the emitter writes it.
const ENDS: &[&str] = &[
    "a: # c",
    "a: ! # c",
    "a: !t # c",
    "a: !!str # c",
    "a: &x # c",
    "a: !t &x # c",
    "a: &x\n  # c",
    "a: &x # c\n    b",
    "a: *x # c",
    "a: *x",
    "a:\n    # c",
    "a:\n   !!str # c",
    "a:\n    &x # c",
    "a: 'b' # c",
    "a: \"b\" # c",
    "a: \"b\\\n    c\" # d",
    "a: b\n    c # d",
    "a: 'b\n\n    c' # d",
    "a: [b, c] # d",
    "a: [b, # c\n    d]",
    "a: [b, c # d\n    ]",
    "a: [b\n    # c\n    ]",
    "a: [] # c",
    "a: {} # c",
    "a: {b: c} # d",
    "a: {b: c, # d\n    }",
    "a: {b: c # d\n    }",
    "a: {b, # d\n    c: }",
    "a: | # c",
    "a: |\n    b\n    # c",
    "a: |\n    b\n   # c",
    "a: |+\n    b\n",
    "a: |+ # c\n\n",
    "a: >-\n    b\n   # c",
    "a: >2 # c\n     b\n",
    "a: >\n\n    b # c",
    "a:\n  - # c",
    "a:\n  - b # c",
    "a:\n  - b\n  # c",
    "a:\n  - - # c",
    "a:\n  - - b\n    - # c",
    "a:\n  - &x # c",
    "a:\n  - &x\n    # c",
    "a:\n  - ? # c",
    "a:\n  - ? b # c",
    "a:\n  -\n    # c",
    "a:\n  -   b:  # c",
    "a:\n  - b:\n      - # c",
    "a:\n  - ''# c",
    "? a",
    "? a # c",
    "? a\n  # c\n  : b",
    "? a\n  : # c",
    "? a\n  : b # c",
    "? - a # c",
    "? [a] # c",
    "? |\n    a\n  : # c",
    "? &x # c",
    "a: b #",
    "a: b #\n",
    "a: #",
    "a:  b\t# c",
    "a:\t# c",
    "a: b # c\n  # d",
    "a: b # c\n     # d\n\n",
    "a:\n    b:\n      c: # d",
    "a:\n    b:\n      c: d # e\n    # f",
    "a:\n    b:\n      c: d # e\n   # f\n # g",
    "'a': # c",
    "\"a\":\n    # c",
    "a: --- # c",
    "a: -",
    "a: ---",
    "<<: # c",
    "...: # c",
    "a: b: c # d",
    "a: 'b # c",
    "a: [b # c",
    "a: \"b # c\n    d\"",
];

/// What is odd as a whole.
const ODD: &[&str] = &[
    "- # c",
    "- ! # c",
    "- !t # c",
    "- &x # c",
    "- !t &x # c",
    "- !t\n  &x # c",
    "- *x # c",
    "- - # c",
    "- - ! # c",
    "- -\n    &x # c",
    "- ? # c",
    "- ? ! # c",
    "- ?",
    "- : # c",
    "-\n  # c",
    "-\n  !t # c",
    "-\n  a # c",
    "- a # c",
    "- 'a' # c",
    "- [a] # c",
    "- {a: } # c",
    "- | # c",
    "- |\n  a\n  # c\n",
    "- a: b # c\n  ! # d",
];

/// The object below, as the emitter writes it and as it does not.
const BEGINNINGS: &[&str] = &[
    "- a: b",
    "- a:  b",
    "- # e\n  a: b",
    "- # e\n  # f\n  a: b",
    "# e\n- a: b",
    "  # e\n- a: b",
    "    # e\n- a: b",
    "\n- a: b",
    "\n# e\n\n- a: b",
    "-\n  a: b",
    "-\n  # e\n  a: b",
    "- &y\n  a: b",
    "- !!map # e\n  a: b",
    "-   a: b\n    c: d",
    "- {a: b} # e",
    "- 'a': b",
    "- ? a\n  : b",
    "- b # e",
    "- # e",
    "-",
    "- - b",
    "- |\n  b\n",
    "- 'b\n- c: d'",
];

#[test]
fn objects_mean_the_same_whichever_way_they_meet() {
    let ends = ENDS.iter().flat_map(|end| {
        let alone = format!("-  {}", end.replace("\n  ", "\n   "));
        [format!("- b:  c\n  {end}"), alone]
    });
    let mut stayed = 0;
    for first in ends.chain(ODD.iter().map(|odd| (*odd).to_owned())) {
        for beginning in BEGINNINGS {
            for below in [TEXT, "", "# g\n"] {
                stayed += compare_in_lists(&format!("{TEXT}{first}\n{beginning}\n{below}"));
            }
        }
    }
    assert!(stayed > 10_000, "only {stayed} objects stayed text");
}

/// At both depths, with and without something below the list.
fn compare_in_lists(items: &str) -> usize {
    let lines = items.lines().map(str::to_owned).collect();
    let deeper = indented(lines, 2).join("\n") + "\n";
    let mut stayed = 0;
    for (items, indent) in [(items, Compact), (&deeper, Wide)] {
        for tail in ["", "functionConfig:\n  a: b\n"] {
            stayed += compare(&format!("{HEAD}{items}{tail}"), indent);
        }
    }
    stayed
}
