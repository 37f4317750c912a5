//! The flags of the server, exactly as Porch's function runner knows them, and
//! our own. What they mean is decided in `config`.

use goflags::{
    Flag, Group,
    flag::{H, HELP, switch, value},
};

pub(crate) const DEFAULT_IMAGE_PREFIX: Flag = value(
    "default-image-prefix",
    "PREFIX",
    "ghcr.io/kptdev/krm-functions-catalog/",
    "Prefix for function names without a slash, such as set-labels:v0.2.",
);

/// Also those of `inspect`, which looks at images as the server does.
pub(crate) const REGISTRIES: Group = Group {
    title: "Images and registries (pod runtime)",
    flags: &[
        value(
            "image-metadata-ttl",
            "DURATION",
            "10m",
            "How long a tag's digest is remembered; 0 remembers it until the runner ends.",
        ),
        value(
            "insecure-registries",
            "LIST",
            "",
            "Comma-separated registries that may be asked over plain HTTP.",
        ),
        switch(
            "enable-private-registries",
            "false",
            "Use the docker config below for registries other than the default one.",
        ),
        value(
            "registry-auth-secret-path",
            "FILE",
            "/var/tmp/config-secret/.dockerconfigjson",
            "Docker config with the registries' credentials.",
        ),
        value(
            "registry-auth-secret-name",
            "NAME",
            "auth-secret",
            "Pull secret to keep in the pod namespace.",
        ),
        switch(
            "enable-private-registries-tls",
            "false",
            "Trust the CA below.",
        ),
        value(
            "tls-secret-path",
            "DIR",
            "/var/tmp/tls-secret/",
            "Directory with ca.crt, ca.pem, cacert.pem, ca-bundle.crt or root.crt.",
        ),
    ],
};

pub(crate) static FLAGS: &[Group] = &[
    Group {
        title: "Service",
        flags: &[
            value("port", "PORT", "9445", "Port to listen on, all addresses."),
            value(
                "disable-runtimes",
                "LIST",
                "",
                "Comma-separated runtimes to leave out: exec, pod. With both left out the server \
                 serves and answers NOT_FOUND.",
            ),
            value(
                "max-request-body-size",
                "BYTES",
                "6291456",
                "Limit of gRPC messages in both directions, for the runner and the wrapper \
                 server. Porch's --function-runner-grpc-max-message-size should be the same.",
            ),
            value(
                "evaluation-timeout",
                "DURATION",
                "5m",
                "Time limit of calls that come without a deadline.",
            ),
            value(
                "max-queued-per-function",
                "COUNT",
                "1000",
                "Calls of one function that may wait or run at a time; more are refused with \
                 RESOURCE_EXHAUSTED.",
            ),
            value(
                "memory-budget",
                "QUANTITY",
                "0",
                "Memory that the runner and the functions it starts may use together, in bytes or \
                 as 512Mi; 0 takes the cgroup's limit, or without one half of the machine's memory.",
            ),
            value(
                "drain-timeout",
                "DURATION",
                "25s",
                "How long calls in flight may take to finish after SIGTERM.",
            ),
            value(
                "lame-duck",
                "DURATION",
                "3s",
                "How long after SIGTERM new connections and calls are still taken, while health \
                 says NOT_SERVING; a part of --drain-timeout. Without the pod runtime the default \
                 is 0.",
            ),
            DEFAULT_IMAGE_PREFIX,
            value(
                "log-level",
                "LEVEL",
                "2",
                "How much to log: 0 errors, 1 warnings, 2 information, 3 debug, 4 debug of \
                 libraries, too, 5 everything.",
            ),
            value("log-format", "FORMAT", "text", "text or json."),
            value(
                "status",
                "WHO",
                "true",
                "Who may see the status page: true (callers on the same machine, including kubectl \
                 port-forward), all, or false (nobody).",
            ),
        ],
    },
    Group {
        title: "Who may run what",
        flags: &[
            value(
                "image-policy",
                "FILE",
                "",
                "Which images may run, by rules: docs/security.md. Re-read when it changes. Without \
                 it every image may run.",
            ),
            value(
                "tls-cert-file",
                "FILE",
                "",
                "The server's certificate with its chain, in PEM: with it the server speaks only \
                 TLS 1.2 and 1.3. Re-read when it changes. Porch connects in plain text.",
            ),
            value("tls-key-file", "FILE", "", "The certificate's key."),
            value(
                "client-ca-file",
                "FILE",
                "",
                "Certificate authorities, in PEM: only clients with a certificate by one of them are \
                 served.",
            ),
            value(
                "allowed-clients",
                "LIST",
                "",
                "Comma-separated DNS names and URIs (SPIFFE ids): only clients whose certificate \
                 has one of these names are served.",
            ),
        ],
    },
    Group {
        title: "Exec runtime",
        flags: &[
            value(
                "functions",
                "DIR",
                "./functions",
                "Directory of cached function executables.",
            ),
            value(
                "config",
                "FILE",
                "./config.yaml",
                "Maps images to these executables or to bundled functions. Re-read when it changes. \
                 Images that it does not name are looked for among the bundled functions.",
            ),
            value(
                "allowed-binary-paths",
                "LIST",
                "",
                "Comma-separated absolute directories from which FunctionConfig objects may name \
                 executables, beside --functions.",
            ),
            switch(
                "bundled-functions",
                "true",
                "Run functions that are part of the runner, unless --config maps their image to an \
                 executable.",
            ),
            value(
                "bundled-prefixes",
                "PREFIXES",
                "",
                "Comma-separated mirrors of the function catalog, each up to the function's name: \
                 bundled functions also run for their images.",
            ),
            value(
                "bundled-latest",
                "CHOICE",
                "newest",
                "Whether the tag latest means the newest bundled release: newest or never. Without \
                 the pod runtime the same holds for the tag unstable.",
            ),
            value(
                "confine",
                "CHOICE",
                "auto",
                "Whether executables are kept from files, processes and networks that are not \
                 theirs: auto (as far as the kernel can), required (the server does not start if \
                 it cannot be done) or off.",
            ),
            value(
                "started-ahead",
                "COUNT",
                "8",
                "Most processes of recently used functions that are started before they are called. \
                 Each serves one call; 0 starts functions only when they are called.",
            ),
            value(
                "started-ahead-idle",
                "DURATION",
                "1m",
                "How long after a function's last call its waiting processes are kept.",
            ),
        ],
    },
    Group {
        title: "Pod runtime",
        flags: &[
            value(
                "pod-namespace",
                "NAME",
                "porch-fn-system",
                "Namespace of function pods, their services and the pull secret.",
            ),
            value(
                "pod-cache-config",
                "FILE",
                "/pod-cache-config/pod-cache-config.yaml",
                "Functions to warm up, and settings per function.",
            ),
            switch(
                "warm-up-pod-cache",
                "true",
                "Create the listed functions' pods at start.",
            ),
            value(
                "pod-ttl",
                "DURATION",
                "30m",
                "Idle time before a pod is collected.",
            ),
            value(
                "scan-interval",
                "DURATION",
                "1m",
                "Time between two searches for idle pods.",
            ),
            value(
                "function-pod-template",
                "NAME",
                "",
                "ConfigMap with the pod and service templates, in the runner's own namespace.",
            ),
            value(
                "max-waitlist-length",
                "COUNT",
                "2",
                "Calls per pod at which another pod is started; 0 or less means the default.",
            ),
            value(
                "max-parallel-pods-per-function",
                "COUNT",
                "1",
                "Most pods per function; 0 or less means the default.",
            ),
            value(
                "max-pods",
                "COUNT",
                "0",
                "Most pods of all functions together; 0 means any number. At the limit the pod that \
                 has been idle longest is deleted; if none is idle, the caller gets \
                 RESOURCE_EXHAUSTED.",
            ),
            value(
                "max-grpc-retries",
                "COUNT",
                "2",
                "How often a call is sent again if its pod is lost while it runs; 0 or less means \
                 the default.",
            ),
            switch(
                "retry-lost-calls",
                "true",
                "Send calls again if their pod is lost; also per function, in --pod-cache-config.",
            ),
            value(
                "pod-start-timeout",
                "DURATION",
                "60s",
                "Longest wait for a new pod.",
            ),
            value(
                "cluster-domain",
                "DOMAIN",
                "cluster.local",
                "The cluster's DNS domain.",
            ),
        ],
    },
    REGISTRIES,
    Group {
        title: "Other",
        flags: &[HELP, H, switch("version", "false", "Show the version.")],
    },
];

#[cfg(test)]
mod tests {
    use super::FLAGS;

    #[test]
    fn the_documentation_has_every_flag_with_its_default() {
        let text = include_str!("../../../docs/operations.md");
        for flag in FLAGS.iter().flat_map(|group| group.flags) {
            if ["help", "h", "version"].contains(&flag.name) {
                continue;
            }
            let default = Some(flag.default).filter(|default| !default.is_empty());
            let row = format!("| `--{}` | {} |", flag.name, default.unwrap_or("none"));
            assert!(text.contains(&row), "{row}");
        }
    }
}
