//! What scripts can do in which release, and what they cannot do to the process.

use std::{
    io::Write as _,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Runs a script over one ConfigMap.
fn run(release: &str, script: &str) -> Output {
    let item = "apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n";
    run_on(item, release, script)
}

fn run_on(item: &str, release: &str, script: &str) -> Output {
    run_after(Duration::ZERO, item, release, script)
}

/// The same, on an input that comes after a while.
fn run_after(wait: Duration, item: &str, release: &str, script: &str) -> Output {
    let indented: String = script.lines().map(|line| format!("    {line}\n")).collect();
    let input = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {item}\
         functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: StarlarkRun\n  metadata:\n    name: prog\n  source: |\n{indented}"
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_starlark-function"))
        .arg(release)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input is piped");
    thread::sleep(wait);
    stdin
        .write_all(input.as_bytes())
        .expect("it takes its input");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

/// What a script leaves in the field `x` of its item.
fn value(release: &str, expression: &str) -> String {
    let script = format!("ctx.resource_list['items'][0]['x'] = {expression}");
    let output = run(release, &script);
    let text = String::from_utf8(output.stdout).expect("the list is text");
    let value = text.lines().find_map(|line| line.strip_prefix("  x: "));
    value
        .unwrap_or_else(|| panic!("no value in {text}"))
        .to_owned()
}

/// The result of a script that fails.
fn message(release: &str, script: &str) -> String {
    let output = run(release, script);
    assert_eq!(output.status.code(), Some(1), "{script}");
    let text = String::from_utf8(output.stdout).expect("the list is text");
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("- message: "));
    let line = line.unwrap_or_else(|| panic!("no result in {text}"));
    line.trim_matches('\'').replace("''", "'")
}

#[test]
fn what_is_done_before_the_input_is_there_does_not_show() {
    let item = "apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n";
    let script =
        "print(ctx.resource_list['items'])\nctx.resource_list['items'][0]['x'] = hash('a')";
    for release in ["v0.5.6", "v0.4.3", "v0.2.0"] {
        for script in [script, "fail('on purpose')"] {
            let [at_once, late] = [0, 300].map(|wait| {
                let output = run_after(Duration::from_millis(wait), item, release, script);
                (output.status.code(), output.stdout, output.stderr)
            });
            assert_eq!(at_once, late, "{release}: {script}");
        }
    }
}

#[test]
fn errors_are_in_the_words_of_the_original() {
    for (script, words) in [
        ("def (", "prog:1:6: not an identifier"),
        ("foo()", "prog:1:1: undefined: foo"),
        ("x = 1/0", "floating-point division by zero"),
        ("{}['a']", "key \"a\" not in dict"),
        (
            "[1].apend(2)",
            "list has no .apend field or method (did you mean .append?)",
        ),
        ("fail('a', 1)", "fail: a 1"),
        (
            "sorted([3, 'x', None])",
            "NoneType < string not implemented",
        ),
        (
            "load('nope.star', 'n')",
            "load: name n not found in module nope.star",
        ),
        (
            "load('http.star', 'http')",
            "cannot load http.star: the bundled starlark has no such module; run the catalog's \
             image in a pod",
        ),
        (
            "ctx.resource_list['items'][0]['x'] = 1 << 70",
            "unmarshaling starlark value: unmarshaling starlark value: 1180591620717411303424 out \
             of range (want value in signed 64-bit range)",
        ),
    ] {
        assert_eq!(message("v0.5.6", script), words);
    }
}

#[test]
fn an_object_with_a_key_twice_is_refused_before_the_script_is_read() {
    let item = "apiVersion: v1\n  metadata: {name: a}\n  metadata: {name: b}\n";
    let output = run_on(item, "v0.5.6", "def (");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).expect("the list is text");
    let words = "mapping key \"metadata\" already defined";
    assert!(text.contains(words), "{text}");
}

#[test]
fn each_release_has_its_own_language() {
    assert_eq!(value("v0.5.6", "len({'a': 1} | {'b': 2})"), "2");
    assert_eq!(value("v0.5.0", "'foobar'.removeprefix('foo')"), "bar");
    for (release, script, words) in [
        ("v0.4.3", "{} | {}", "unknown binary op: dict | dict"),
        (
            "v0.4.3",
            "'a'.removeprefix('a')",
            "string has no .removeprefix field or method",
        ),
        (
            "v0.5.0",
            "set([1]).add(2)",
            "set has no .add field or method",
        ),
        (
            "v0.2.2",
            "for x in []: pass",
            "prog:1:1: for loop not within a function",
        ),
        (
            "v0.2.2",
            "load('re.star', 're')",
            "load not implemented by this application",
        ),
        (
            "v0.2.0",
            "foo()",
            "stalark-function-run:1:1: undefined: foo",
        ),
        (
            "v0.4.0",
            "load('krmfn.star', 'krmfn')",
            "load: name krmfn not found in module krmfn.star",
        ),
    ] {
        assert_eq!(message(release, script), words, "{release}");
    }
}

#[test]
fn what_never_held_anything_is_not_asked_with_keys_that_cannot_be_hashed() {
    assert_eq!(value("v0.5.6", "{}.pop([], 'none')"), "none");
    let emptied = "d = {'a': 1}\nd.clear()\nd.pop([], 'none')";
    assert_eq!(message("v0.5.6", emptied), "pop: unhashable type: list");
}

#[test]
fn a_cluster_package_of_megabytes_is_no_reason_to_stop() {
    let labels = "{app: web, tier: front, a: b, c: d, e: f, g: h, i: j, k: l}";
    let object = |number: usize| {
        let metadata = format!("{{name: web-{number}, labels: {labels}}}");
        format!("apiVersion: v1\n  kind: ConfigMap\n  metadata: {metadata}\n")
    };
    let objects: Vec<String> = (0..40_000).map(object).collect();
    let script =
        "for item in ctx.resource_list['items']:\n  item['metadata']['namespace'] = 'prod'";
    let output = run_on(&objects.join("- "), "v0.5.6", script);
    assert_eq!(output.status.code(), Some(0), "{:?}", output.stderr);
    let text = String::from_utf8(output.stdout).expect("the list is text");
    assert_eq!(text.matches("namespace: prod").count(), objects.len());
}

#[test]
fn nothing_between_braces_is_empty_text() {
    let item = "{apiVersion: v1, kind: A, metadata: {name: a}, x: , y: ~}\n";
    let output = run_on(item, "v0.5.6", "pass");
    let text = String::from_utf8(output.stdout).expect("the list is text");
    assert!(
        text.contains("  x: \"\"\n") && text.contains("  \"y\": null\n"),
        "{text}"
    );
}

#[test]
fn modules_answer_as_starlib_does() {
    let loaded = |module: &str, name: &str, expression: &str| {
        let script = format!(
            "load('{module}', '{name}')\nctx.resource_list['items'][0]['x'] = {expression}"
        );
        let output = run("v0.5.6", &script);
        let text = String::from_utf8(output.stdout).expect("the list is text");
        let value = text.lines().find_map(|line| line.strip_prefix("  x: "));
        value
            .unwrap_or_else(|| panic!("no value in {text}"))
            .to_owned()
    };
    for (module, name, expression, wanted) in [
        (
            "re.star",
            "re",
            "re.sub('(\\\\w)b', '$1-', 'ab cb')",
            "a- c-",
        ),
        (
            "re.star",
            "re",
            "str(re.findall('[[:digit:]]+', 'a1b22'))",
            "(\"1\", \"22\")",
        ),
        (
            "hash.star",
            "hash",
            "hash.md5('a')",
            "0cc175b9c0f1b6a831c399e269772661",
        ),
        (
            "time.star",
            "time",
            "str(time.parse_duration('90m'))",
            "1h30m0s",
        ),
        (
            "time.star",
            "time",
            "time.from_timestamp(0).format('Mon Jan _2 15:04:05 2006')",
            "Thu Jan  1 00:00:00 1970",
        ),
        (
            "encoding/yaml.star",
            "yaml",
            "yaml.dumps({'b': [1], 'a': 'yes'}).strip()",
            "|-",
        ),
        (
            "encoding/yaml.star",
            "yaml",
            "str(yaml.loads('yes'))",
            "\"True\"",
        ),
        (
            "encoding/csv.star",
            "csv",
            "str(csv.read_all('a,\"b\"'))",
            "'[[\"a\", \"b\"]]'",
        ),
        ("math.star", "math", "math.gamma(5)", "24"),
    ] {
        let value = loaded(module, name, expression);
        assert_eq!(
            value.trim_matches('\''),
            wanted.trim_matches('\''),
            "{expression}"
        );
    }
}

/// Small scripts that want too much: each ends soon, with an error.
#[test]
fn hostile_scripts_are_stopped_with_an_error() {
    let bomb = "load('encoding/yaml.star', 'yaml')\ns = 'a: &a [x, x, x, x, x, x, x, x, x]\\n'\n\
                p = 'a'\nfor c in 'bcdefghij'.elems():\n  s += c + ': &' + c + ' [' + ', '.join(['*' + p] * 9) + ']\\n'\n  \
                p = c\nyaml.loads(s)";
    for script in [
        "x = 'a' * (1 << 29)",
        "x = 'a' * 1000000000000",
        "x = [0]\nwhile True: x = x + x",
        "x = []\nwhile True: x.append('a' * 1000)",
        "x = list(range(1000000000))",
        "def f(): return f()\nf()",
        "x = []\nfor i in range(3000000): x = [x]\nstr(x)",
        "x = 3\nwhile True: x = x * x",
        "x = '('*20000\nload('re.star', 're')\nre.match(x, '')",
        "load('re.star', 're')\nre.match('((a{1000}){1000}){1000}', 'a')",
        "x = {}\nx['x'] = x\nctx.resource_list['items'][0]['x'] = x",
        "load('encoding/yaml.star', 'yaml')\nyaml.loads('[' * 100000)",
        "load('encoding/json.star', 'json')\njson.decode('[' * 10000000)",
        bomb,
    ] {
        let began = Instant::now();
        let output = run("v0.5.6", script);
        let shown = &script[..script.len().min(70)];
        assert_eq!(output.status.code(), Some(1), "{shown}");
        assert!(began.elapsed() < Duration::from_secs(60), "{shown}");
        let said = output.stdout.len() + output.stderr.len();
        assert!((1..100_000).contains(&said), "{said} bytes: {shown}");
    }
}
