//! Compares a bundled function with its Go program: `speed FUNCTION PROGRAM INPUT [CALLS]`.
//! Both run in turn, so that whatever else the machine does falls on both, and
//! the ratios of time, of processor time and of memory are printed. INPUT is a file,
//! or `configmaps=BYTES` or `deployments=BYTES` for a made-up list.

use std::{
    env, fs,
    io::Write as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use functions::{Clock, catalog};

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (function, program, input, calls) = match words[..] {
        [function, program, input] => (function, program, input, 10),
        [function, program, input, calls] => {
            (function, program, input, calls.parse().expect("a number"))
        }
        _ => {
            eprintln!("usage: speed FUNCTION PROGRAM INPUT [CALLS]");
            std::process::exit(2);
        }
    };
    let function = catalog::find(function).expect("a bundled function");
    let input = match input.split_once('=') {
        Some(("configmaps", bytes)) => list(CONFIG_MAP, bytes).into_bytes(),
        Some(("deployments", bytes)) => list(DEPLOYMENT, bytes).into_bytes(),
        _ => fs::read(input).expect("an input file"),
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut memory = 0;
    for _ in 0..calls {
        ours.push(measured("self", || {
            let ended = function.run(&input, &Clock::default());
            assert_eq!(ended.expect("no deadline").exit, 0);
        }));
        theirs.push(measured("children", || {
            memory = memory.max(run(program, &input));
        }));
    }
    let own_memory = status_kib("self", "VmHWM:");
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    println!(
        "{:>24}{:>14}{:>14}{:>8}",
        "", "in process", "program", "ratio"
    );
    for (what, ours, theirs) in [
        ("time of a call", ours.0, theirs.0),
        ("processor time", ours.1, theirs.1),
    ] {
        let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
        println!("{what:>24}{ours:>14.2?}{theirs:>14.2?}{ratio:>8.1}");
    }
    #[allow(clippy::cast_precision_loss, reason = "a ratio to be read")]
    let ratio = memory as f64 / own_memory as f64;
    println!(
        "{:>24}{own_memory:>10} KiB{memory:>10} KiB{ratio:>8.1}",
        "most memory"
    );
}

/// Wall and processor time, each.
type Times = (Duration, Duration);

fn measured(whose: &str, call: impl FnOnce()) -> Times {
    let (before, started) = (processor_time(whose), Instant::now());
    call();
    (
        started.elapsed(),
        processor_time(whose).saturating_sub(before),
    )
}

fn median(times: &mut [Times]) -> Times {
    let middle = times.len() / 2;
    times.sort_by_key(|(wall, _)| *wall);
    let wall = times[middle].0;
    times.sort_by_key(|(_, processor)| *processor);
    // Processor time is told in hundredths: quick calls may have none.
    (wall, times[middle].1.max(Duration::from_micros(100)))
}

/// The processor time of this process, or of its children that have ended.
fn processor_time(whose: &str) -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("/proc");
    let fields = stat.rsplit_once(')').expect("a name").1.split_whitespace();
    let first = if whose == "self" { 11 } else { 13 };
    let ticks = fields
        .skip(first)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().expect("ticks"));
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// Runs the program, and tells the most memory it had, in KiB.
fn run(program: &str, input: &[u8]) -> u64 {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let pid = child.id().to_string();
    let mut stdin = child.stdin.take().expect("piped");
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        let watched = scope.spawn(move || {
            let mut most = 0;
            loop {
                match status_kib(&pid, "VmHWM:") {
                    0 => return most,
                    now => most = now,
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        child.wait_with_output().expect("the program ends");
        watched.join().expect("watched")
    })
}

/// A field of a process's status; 0 once it has ended.
fn status_kib(pid: &str, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A list of numbered objects, with the configuration of set-namespace.
fn list(object: &str, bytes: &str) -> String {
    let bytes: usize = bytes.parse().expect("a number of bytes");
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    for number in 0.. {
        if list.len() >= bytes {
            break;
        }
        list.push_str(&object.replace("NUMBER", &number.to_string()));
    }
    list + "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  \
            data:\n    namespace: prod\n"
}

const CONFIG_MAP: &str = r#"- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: cm-NUMBER
    namespace: default
    annotations:
      internal.config.kubernetes.io/path: 'cm-NUMBER.yaml'
      internal.config.kubernetes.io/index: '0'
  data:
    key-a: value-NUMBER
    key-b: value-NUMBER
    key-c: some text NUMBER
"#;

const DEPLOYMENT: &str = r#"- apiVersion: apps/v1
  kind: Deployment
  metadata: # kpt-merge: default/app-NUMBER
    name: app-NUMBER
    namespace: default # the old one
    labels:
      app: app-NUMBER
      app.kubernetes.io/part-of: example
    annotations:
      internal.config.kubernetes.io/path: 'apps/app-NUMBER.yaml'
      internal.config.kubernetes.io/index: '0'
  spec:
    replicas: 3
    selector:
      matchLabels:
        app: app-NUMBER
    template:
      metadata:
        labels:
          app: app-NUMBER
      spec:
        containers:
        # the only one
        - name: main
          image: registry.example.com/team/app-NUMBER:v1.2.NUMBER
          args: ["--listen=:8080", "--verbose"]
          env:
          - name: LEVEL
            value: "info"
          - name: TEXT
            value: some words of text
          ports:
          - containerPort: 8080
            name: http
          resources:
            limits: {cpu: 100m, memory: 128Mi}
            requests:
              cpu: 50m
              memory: 64Mi
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config-NUMBER
    namespace: default
    annotations:
      internal.config.kubernetes.io/path: 'apps/config-NUMBER.yaml'
      internal.config.kubernetes.io/index: '0'
  data:
    settings: |
      # settings of app NUMBER
      level = info
      size = 12
"#;
