//! Generated Starlark scripts: expressions of every operator, function, method and
//! module, in statements that are right or wrong.

use crate::{
    dice::Dice,
    tree::{Tree, map, scalar},
};

/// The configuration with a script.
pub(crate) fn config(dice: &mut Dice) -> Tree {
    let script = script(dice);
    let source = scalar(format!("|\n{script}"));
    if dice.percent(25) {
        let mut data = map([("source", source)]);
        if dice.percent(30) {
            data.set("other", scalar(dice.pick(&["x", "7", "\"\""])));
        }
        return map([
            ("apiVersion", scalar("v1")),
            ("kind", scalar("ConfigMap")),
            ("metadata", map([("name", scalar("prog"))])),
            ("data", data),
        ]);
    }
    let mut config = map([
        ("apiVersion", scalar("fn.kpt.dev/v1alpha1")),
        ("kind", scalar("StarlarkRun")),
        ("metadata", map([("name", scalar("prog"))])),
        ("source", source),
    ]);
    if dice.percent(20) {
        let params = map([("a", scalar("1")), ("b", scalar("text"))]);
        config.set("params", params);
    }
    config
}

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
    "krmfn.match_gvk({'apiVersion': 'apps/v1', 'kind': 'Deployment'}, 'apps/v1', 'Deployment')",
    "krmfn.match_gvk({'apiVersion': 'v1', 'kind': 'Pod'}, 'v1', 'Pod')",
    "krmfn.match_name({'metadata': {'name': 'a'}}, 'a')",
    "krmfn.match_namespace({'metadata': {'namespace': 'a'}}, 'a')",
    "ctx.resource_list['functionConfig']['kind']",
    "ctx.resource_list['functionConfig'].get('params')",
    "len(items)",
    "[i['kind'] for i in items]",
    "sorted([i['metadata']['name'] for i in items])",
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

fn expression(depth: usize, dice: &mut Dice) -> String {
    let kind = if depth == 0 { 0 } else { dice.below(8) };
    match kind {
        1 => {
            let operator = dice.pick(OPERATORS);
            let left = expression(depth - 1, dice);
            let right = expression(depth - 1, dice);
            format!("({left} {operator} {right})")
        }
        2 => format!("{}({})", dice.pick(FUNCTIONS), arguments(depth, dice)),
        3 | 4 => {
            let object = expression(depth - 1, dice);
            let method = dice.pick(METHODS);
            format!("({object}).{method}({})", arguments(depth, dice))
        }
        5 => dice.pick(MODULES).to_owned(),
        6 => {
            let operator = dice.pick(&["-", "not ", "~", "+"]);
            format!("{operator}{}", expression(depth - 1, dice))
        }
        _ => dice.pick(VALUES).to_owned(),
    }
}

fn arguments(depth: usize, dice: &mut Dice) -> String {
    let count = dice.below(3);
    let arguments: Vec<String> = (0..count).map(|_| expression(depth - 1, dice)).collect();
    arguments.join(", ")
}

const LOADS: &str = "load('re.star', 're')
load('hash.star', 'hash')
load('time.star', 'time')
load('math.star', 'math')
load('encoding/yaml.star', 'yaml')
load('encoding/json.star', 'json')
load('encoding/base64.star', 'base64')
load('encoding/csv.star', 'csv')
load('krmfn.star', 'krmfn')
";

fn script(dice: &mut Dice) -> String {
    let mut script = String::new();
    if dice.percent(90) {
        script.push_str(LOADS);
    }
    script
        .push_str("items = ctx.resource_list['items']\nx = 1\ndef f(a, b = 1):\n  return [a, b]\n");
    for _ in 0..1 + dice.below(3) {
        let mut statement = dice.pick(STATEMENTS).to_owned();
        while statement.contains("{E}") {
            let depth = dice.below(3);
            statement = statement.replacen("{E}", &expression(depth, dice), 1);
        }
        script.push_str(&statement);
        script.push('\n');
    }
    let shown = dice.pick(&["x", "str(x)", "repr(x)", "type(x)"]);
    script.push_str(&format!(
        "for item in items[:1]:\n  item['spec'] = {shown}\n"
    ));
    script
}
