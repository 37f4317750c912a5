//! Compares this function with another program that should be the same: makes
//! scripts and lists, runs both, and shows where exit codes or outputs differ.
//!
//! `cargo run --release --example differential -- OURS ORACLE [COUNT] [SEED]`,
//! where OURS may have a release behind it: `target/release/starlark-function@v0.5.5`.
//! Ends with 1 if anything differs.

use std::{
    io::Write as _,
    process::{Command, ExitCode, Stdio},
};

/// None of the items themselves: the original shows their keys in an order of chance.
const VALUES: &[&str] = &[
    "None",
    "True",
    "False",
    "0",
    "1",
    "-7",
    "3",
    "255",
    "1 << 70",
    "2.5",
    "-0.0",
    "1e100",
    "\"\"",
    "\"a\"",
    "\"Ab c\"",
    "\"äöß€\"",
    "\"a,b,,c\"",
    "\" x y  z \"",
    "\"x\\ny\\n\"",
    "b\"ab\"",
    "[]",
    "[1, 2, 3]",
    "[3, \"x\", None]",
    "[[1], [2]]",
    "(1, 2)",
    "()",
    "(\"a\",)",
    "{}",
    "{\"a\": 1, \"b\": [2]}",
    "{1: 2}",
    "{(1, 2): \"t\"}",
    "set([1, 2])",
    "range(5)",
    "range(2, 9, 3)",
    "len",
    "str",
    "[x for x in range(3)]",
    "{k: k * 2 for k in [1, 2]}",
    "lambda x: x",
    "f",
    "\"abc\".elems()",
    "\"%s-%d\"",
    "\"{}:{}\"",
];

const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "//", "%", "|", "&", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=",
    "in", "not in", "and", "or",
];

const FUNCTIONS: &[&str] = &[
    "abs",
    "any",
    "all",
    "bool",
    "bytes",
    "chr",
    "dict",
    "dir",
    "enumerate",
    "float",
    "hasattr",
    "getattr",
    "hash",
    "int",
    "len",
    "list",
    "max",
    "min",
    "ord",
    "range",
    "repr",
    "reversed",
    "set",
    "sorted",
    "str",
    "tuple",
    "type",
    "zip",
    "f",
    "nope",
    "fail",
];

const METHODS: &[&str] = &[
    "append",
    "clear",
    "extend",
    "index",
    "insert",
    "pop",
    "remove",
    "get",
    "items",
    "keys",
    "popitem",
    "setdefault",
    "update",
    "values",
    "capitalize",
    "count",
    "elems",
    "endswith",
    "find",
    "format",
    "isalnum",
    "isalpha",
    "isdigit",
    "islower",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "replace",
    "rfind",
    "rindex",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "title",
    "upper",
    "add",
    "union",
    "difference",
    "issubset",
    "codepoints",
    "nothing",
];

const MODULES: &[&str] = &[
    "re.match(\"(a)(b)?\", \"ab a\")",
    "re.split(\"[, ]+\", \"a, b c\", 2)",
    "re.sub(\"(\\\\w)b\", \"$1-${1}x\", \"ab cb\")",
    "re.findall(\"\\\\d+\", \"a1b22\")",
    "re.search(\"(\", \"x\")",
    "re.compile(\"a*\").split(\"baac\")",
    "re.compile(\"x**\")",
    "re.match(\"[[:alpha:]\\\\d]+\", \"ab1-\")",
    "hash.md5(\"ä\")",
    "hash.sha1(\"\")",
    "hash.sha256(1)",
    "yaml.dumps({\"b\": [1, {\"c\": None}], \"a\": \"yes\", \"n\": 1.5})",
    "yaml.loads(\"a: yes\\nb: [1, 0x10, 1.5, ~]\\nc: 2020-01-01\\n\")",
    "yaml.loads(\"a: [\")",
    "yaml.dumps(\"a\\nb\\n\")",
    "json.encode({\"b\": [1, 2.5, None], \"a\": \"ä<\"})",
    "json.decode('{\"a\": [1, 2.50, \"x\\\\u00e4\"]}')",
    "json.decode(\"[1,]\")",
    "json.indent('{\"a\":[1,{}]}')",
    "math.floor(-2.5)",
    "math.log(8, 2)",
    "math.remainder(7, 4)",
    "math.gamma(5)",
    "base64.decode(\"YQ==\")",
    "base64.decode(\"Y\")",
    "base64.encode(\"ab\", \"url\")",
    "csv.read_all(\"a,b\\n\\\"c\\\"\\\"d\\\",e\\n\")",
    "csv.read_all(\"a,b\\nc\\n\")",
    "csv.write_all([[\"a b\", 1], [\"c,d\", None]])",
    "time.parse_duration(\"1h2m3.5s\")",
    "time.parse_duration(\"x\")",
    "time.parse_time(\"2021-03-04T05:06:07+02:00\")",
    "time.parse_time(\"2021-13-04T05:06:07Z\")",
    "time.time(year=2020, month=14, day=0)",
    "time.from_timestamp(1600000000).format(\"Mon Jan _2 15:04:05 2006\")",
    "time.parse_duration(\"90m\") / time.minute",
    "(time.hour * 3).minutes",
    "time.from_timestamp(10) - time.from_timestamp(5)",
];

const STATEMENTS: &[&str] = &[
    "x = {E}",
    "x, y = {E}",
    "x += {E}",
    "items[0][\"spec\"] = {E}",
    "items[0].update({E})",
    "items.append({E})",
    "for q in {E}:\n  y = q",
    "if {E}:\n  x = 1\nelse:\n  x = 2",
    "{E}",
    "def g(a, b=2, *args, **kw):\n  return [a, b, args, kw]\nx = g({E})",
    "x = [{E} for z in {E}]",
    "while x:\n  x = None",
    "for q in [1, 2]:\n  if q == 2: break",
    "def (",
    "x = )",
    "return 1",
    "x = {E} if {E} else {E}",
    "x[{E}] = {E}",
    "x = {E}[{E}]",
    "x = {E}[{E}:{E}]",
    "del x",
    "undefinedname",
    "x.y = 1",
    "load(\"nope.star\", \"nope\")",
    "items.pop()",
    "x = \"%s %r\" % ({E}, {E})",
    "x = \"{} {}\".format({E}, {E})",
];

/// Numbers that are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[self.below(from.len())].to_owned()
    }

    fn expression(&mut self, depth: usize) -> String {
        let kind = if depth == 0 { 0 } else { self.below(8) };
        match kind {
            1 => {
                let operator = self.pick(OPERATORS);
                let (left, right) = (self.expression(depth - 1), self.expression(depth - 1));
                format!("({left} {operator} {right})")
            }
            2 => format!("{}({})", self.pick(FUNCTIONS), self.arguments(depth)),
            3 | 4 => {
                let object = self.expression(depth - 1);
                format!(
                    "({object}).{}({})",
                    self.pick(METHODS),
                    self.arguments(depth)
                )
            }
            5 => self.pick(MODULES),
            6 => format!(
                "{}{}",
                self.pick(&["-", "not ", "~", "+"]),
                self.expression(depth - 1)
            ),
            _ => self.pick(VALUES),
        }
    }

    fn arguments(&mut self, depth: usize) -> String {
        let count = self.below(3);
        let arguments: Vec<String> = (0..count).map(|_| self.expression(depth - 1)).collect();
        arguments.join(", ")
    }

    fn script(&mut self) -> String {
        let mut script = String::from(
            "load('re.star', 're')\nload('hash.star', 'hash')\nload('time.star', 'time')\n\
             load('math.star', 'math')\nload('encoding/yaml.star', 'yaml')\n\
             load('encoding/json.star', 'json')\nload('encoding/base64.star', 'base64')\n\
             load('encoding/csv.star', 'csv')\nitems = ctx.resource_list['items']\nx = 1\n\
             def f(a, b = 1):\n  return [a, b]\n",
        );
        for _ in 0..1 + self.below(3) {
            let mut statement = self.pick(STATEMENTS);
            while statement.contains("{E}") {
                let depth = self.below(3);
                statement = statement.replacen("{E}", &self.expression(depth), 1);
            }
            script.push_str(&statement);
            script.push('\n');
        }
        let shown = self.pick(&["x", "str(x)", "repr(x)", "type(x)"]);
        script.push_str(&format!("items[0]['spec'] = {shown}\n"));
        script
    }
}

fn list(script: &str) -> String {
    let indented: String = script.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  \
         kind: ConfigMap\n  metadata:\n    name: a\n  spec: {{a: 1, b: [x, 2.5]}}\n- apiVersion: \
         apps/v1\n  kind: Deployment\n  metadata:\n    name: b\nfunctionConfig:\n  apiVersion: \
         fn.kpt.dev/v1alpha1\n  kind: StarlarkRun\n  metadata:\n    name: prog\n  source: |\n{indented}"
    )
}

fn run(program: &str, input: &str) -> std::io::Result<(Option<i32>, String)> {
    let (program, release) = match program.split_once('@') {
        Some((program, release)) => (program, Some(release)),
        None => (program, None),
    };
    let mut child = Command::new(program)
        .args(release)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((output.status.code(), text))
}

fn main() -> std::io::Result<ExitCode> {
    let mut args = std::env::args().skip(1);
    let (Some(ours), Some(oracle)) = (args.next(), args.next()) else {
        eprintln!("usage: differential OURS ORACLE [COUNT] [SEED]");
        return Ok(ExitCode::from(2));
    };
    let mut number = |default| {
        args.next()
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let (count, seed): (u64, u64) = (number(1000), number(1));
    let mut differences = 0;
    for at in 0..count {
        let mut dice = Dice((seed + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let script = dice.script();
        let input = list(&script);
        let (own, other) = (run(&ours, &input)?, run(&oracle, &input)?);
        if own != other {
            differences += 1;
            let part = |text: &str| match text.find("results:") {
                Some(at) => text[at..].to_owned(),
                None => text.to_owned(),
            };
            println!(
                "--- case {} ---\n{script}ours: {:?}\n{}\noracle: {:?}\n{}",
                seed + at,
                own.0,
                part(&own.1),
                other.0,
                part(&other.1)
            );
        }
    }
    println!("{count} cases, {differences} differences");
    Ok(match differences {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
