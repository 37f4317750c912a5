use super::*;

fn parse(words: &[&str]) -> Result<Config, String> {
    let words = words.iter().map(OsString::from).collect();
    match Config::parse(words) {
        Ok(Request::Serve(config)) => Ok(*config),
        Ok(Request::Print(text)) => Err(text),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn unstable_is_answered_only_where_nothing_else_could() {
    for (words, latest, unstable) in [
        (&[][..], true, false),
        (&["--disable-runtimes=pod"], true, true),
        (
            &["--disable-runtimes=pod", "--bundled-latest=never"],
            false,
            false,
        ),
    ] {
        let rules = parse(words).unwrap().bundled_rules().unwrap();
        assert_eq!((rules.latest, rules.unstable), (latest, unstable));
    }
    let off = parse(&["--bundled-functions=false"]).unwrap();
    assert_eq!(off.bundled_rules(), None);
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let config = parse(&[]).unwrap();
    assert_eq!(config.port, 9445);
    assert_eq!(
        config.runtimes,
        Runtimes {
            exec: true,
            pod: true
        }
    );
    assert_eq!(config.max_message_size, 6 * 1024 * 1024);
    assert_eq!(config.evaluation_timeout, Duration::from_secs(300));
    assert_eq!(config.max_queued_per_function, 1000);
    assert_eq!(config.memory_budget, None);
    assert_eq!(config.drain_timeout, Duration::from_secs(25));
    assert_eq!(config.lame_duck, Duration::from_secs(3));
    assert_eq!(
        config.default_image_prefix,
        "ghcr.io/kptdev/krm-functions-catalog/"
    );
    assert_eq!((config.log.level, config.log.json), (2, false));
    assert_eq!(config.exec.functions, PathBuf::from("./functions"));
    assert_eq!(config.exec.config, PathBuf::from("./config.yaml"));
    assert!(!config.exec.config_is_required);
    assert!(config.exec.bundled);
    assert_eq!(config.pod.namespace, "porch-fn-system");
    assert_eq!(
        config.pod.cache_config,
        PathBuf::from("/pod-cache-config/pod-cache-config.yaml")
    );
    assert!(config.pod.warm_up);
    assert_eq!(config.pod.ttl, Duration::from_secs(1800));
    assert_eq!(config.pod.scan_interval, Duration::from_secs(60));
    assert_eq!(config.pod.template, None);
    assert_eq!(
        (config.pod.max_waitlist_length, config.pod.max_parallel_pods),
        (2, 1)
    );
    assert_eq!((config.pod.max_pods, config.pod.max_grpc_retries), (0, 2));
    assert!(config.pod.retry_lost_calls);
    assert_eq!(config.pod.start_timeout, Duration::from_secs(60));
    assert_eq!(config.pod.cluster_domain, "cluster.local");
    assert_eq!(config.registry.metadata_ttl, Some(Duration::from_secs(600)));
    assert!(config.registry.insecure.is_empty());
    assert!(!config.registry.private && !config.registry.private_tls);
    assert_eq!(
        config.registry.auth_file,
        PathBuf::from("/var/tmp/config-secret/.dockerconfigjson")
    );
    assert_eq!(config.registry.pull_secret, "auth-secret");
    assert_eq!(
        config.registry.tls_directory,
        PathBuf::from("/var/tmp/tls-secret/")
    );
}

#[test]
fn every_flag_reaches_its_place_in_every_spelling() {
    let words = [
        ("port", "1"),
        ("disable-runtimes", "pod, exec"),
        ("max-request-body-size", "7"),
        ("evaluation-timeout", "8s"),
        ("max-queued-per-function", "9"),
        ("memory-budget", "1Ki"),
        ("drain-timeout", "0"),
        ("lame-duck", "2s"),
        ("default-image-prefix", "example.com/"),
        ("image-policy", "/i"),
        ("tls-cert-file", "/tc"),
        ("tls-key-file", "/tk"),
        ("client-ca-file", "/ca"),
        ("allowed-clients", "A.example,spiffe://b"),
        ("log-level", "5"),
        ("log-format", "json"),
        ("status", "all"),
        ("confine", "required"),
        ("functions", "/f"),
        ("config", "/c"),
        ("allowed-binary-paths", "/b,/usr/b"),
        ("started-ahead", "6"),
        ("started-ahead-idle", "7s"),
        ("pod-namespace", "ns"),
        ("pod-cache-config", "/p"),
        ("pod-ttl", "1.5h"),
        ("scan-interval", "2m"),
        ("function-pod-template", "template"),
        ("max-waitlist-length", "3"),
        ("max-parallel-pods-per-function", "4"),
        ("max-pods", "5"),
        ("max-grpc-retries", "6"),
        ("pod-start-timeout", "5s"),
        ("cluster-domain", "example.org"),
        ("image-metadata-ttl", "0"),
        ("insecure-registries", "a:5000,b"),
        ("bundled-prefixes", "a.example/fn,b/"),
        ("bundled-latest", "never"),
        ("registry-auth-secret-path", "/a"),
        ("registry-auth-secret-name", "pull"),
        ("tls-secret-path", "/t"),
    ];
    let switches = [
        "--warm-up-pod-cache=false",
        "--retry-lost-calls=false",
        "-bundled-functions=0",
        "-enable-private-registries",
        "--enable-private-registries-tls=T",
    ];
    for spelling in ["--{}={}", "--{} {}", "-{}={}", "-{} {}"] {
        let mut given: Vec<String> = switches.map(str::to_owned).into();
        for (name, value) in words {
            let text = spelling.replacen("{}", name, 1);
            match text.split_once(' ') {
                Some((flag, _)) => given.extend([flag.to_owned(), value.to_owned()]),
                None => given.push(text.replacen("{}", value, 1)),
            }
        }
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let mut config = parse(&given).unwrap();
        // What is shown of the flags has tests of its own.
        config.shown = Configuration::default();
        let text = format!("{config:?}");
        assert_eq!(
            text,
            "Config { port: 1, runtimes: Runtimes { exec: false, pod: false }, \
             max_message_size: 7, evaluation_timeout: 8s, max_queued_per_function: 9, \
             memory_budget: Some(1024), drain_timeout: 0ns, lame_duck: 2s, default_image_prefix: \"example.com/\", \
             image_policy: Some(\"/i\"), tls: Some(TlsConfig { certificate: \"/tc\", key: \"/tk\", \
             client_ca: Some(\"/ca\"), allowed_clients: [Dns(\"a.example\"), Uri(\"spiffe://b\")] }), \
             log: LogConfig { level: 5, json: true }, status: All, \
             shown: Configuration { flags: [], variables: [], ignored: [] }, \
             exec: ExecConfig { functions: \"/f\", config: \"/c\", config_is_required: true, \
             allowed_paths: [\"/b\", \"/usr/b\"], bundled: false, \
             bundled_prefixes: [\"a.example/fn/\", \"b/\"], bundled_latest: false, confine: Required, \
             started_ahead: 6, started_ahead_idle: 7s }, \
             pod: PodConfig { namespace: \"ns\", cache_config: \"/p\", cache_config_is_given: true, warm_up: false, \
             ttl: 5400s, scan_interval: 120s, template: Some(\"template\"), \
             max_waitlist_length: 3, max_parallel_pods: 4, max_pods: 5, \
             max_grpc_retries: 6, retry_lost_calls: false, start_timeout: 5s, \
             cluster_domain: \"example.org\" }, \
             registry: RegistryConfig { metadata_ttl: None, insecure: [\"a:5000\", \"b\"], \
             private: true, auth_file: \"/a\", pull_secret: \"pull\", private_tls: true, \
             tls_directory: \"/t\" } }"
        );
    }
}

#[test]
fn a_bad_value_is_refused_with_what_is_accepted() {
    for (word, expected) in [
        ("--port=65536", "a port from 0 to 65535"),
        (
            "--disable-runtimes=exec,wasm",
            "a comma-separated list of exec and pod",
        ),
        (
            "--max-request-body-size=0",
            "a number of bytes from 1 to 2147483647",
        ),
        (
            "--max-request-body-size=6MB",
            "a number of bytes from 1 to 2147483647",
        ),
        ("--log-level=6", "a level from 0 to 5"),
        ("--log-format=xml", "text or json"),
        (
            "--pod-ttl=30",
            "a duration such as 30m, 1h30m, 1.5h or 90s, not negative",
        ),
        (
            "--scan-interval=0s",
            "a duration such as 30m, 1h30m, 1.5h or 90s, longer than 0",
        ),
        (
            "--drain-timeout=-1s",
            "a duration such as 30m, 1h30m, 1.5h or 90s, not negative",
        ),
        (
            "--max-waitlist-length=x",
            "a whole number; 0 or less means the default",
        ),
        ("--max-queued-per-function=0", "a whole number from 1"),
        (
            "--pod-namespace=Name",
            "a name of lower-case letters, digits, dashes and dots",
        ),
    ] {
        let (flag, value) = word.split_once('=').unwrap();
        let told = parse(&[word]).unwrap_err();
        assert_eq!(
            told,
            format!("invalid value {value:?} for flag {flag}: expected {expected}")
        );
    }
    let told = parse(&["--warm-up-pod-cache", "false"]).unwrap_err();
    assert!(told.starts_with("unexpected argument \"false\""), "{told}");
}

#[test]
fn nothing_or_less_means_the_default_for_pods() {
    for none in ["0", "-3"] {
        let config = parse(&[
            &format!("--max-waitlist-length={none}"),
            &format!("--max-parallel-pods-per-function={none}"),
        ]);
        let pod = config.unwrap().pod;
        assert_eq!((pod.max_waitlist_length, pod.max_parallel_pods), (2, 1));
    }
}

#[test]
fn the_help_groups_every_flag_by_runtime() {
    for words in [
        &["--help"][..],
        &["-h"],
        &["-help"],
        &["--port=1", "--help"],
    ] {
        let text = parse(words).unwrap_err();
        let place = |title: &str| text.find(title).unwrap_or_else(|| panic!("no {title}"));
        assert!(place("Exec runtime:") < place("--functions DIR"));
        assert!(place("--functions DIR") < place("Pod runtime:"));
        assert!(place("Pod runtime:") < place("--pod-ttl DURATION (default 30m)"));
        for flag in FLAGS.iter().flat_map(|group| group.flags) {
            place(&format!("\n  --{}", flag.name));
        }
    }
    assert!(
        parse(&["--version"])
            .unwrap_err()
            .starts_with("function-runner 0.")
    );
}

#[test]
fn without_pods_there_is_a_lame_duck_only_if_it_is_asked_for() {
    let lame_duck = |words: &[&str]| parse(words).unwrap().lame_duck;
    assert_eq!(lame_duck(&["--disable-runtimes=pod"]), Duration::ZERO);
    let asked_for = lame_duck(&["--disable-runtimes=pod", "--lame-duck=3s"]);
    assert_eq!(asked_for, Duration::from_secs(3));
}
