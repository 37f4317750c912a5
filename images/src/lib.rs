//! Container images without a container engine. [`layout`] writes any image as an OCI layout;
//! [`runner()`] and [`wrapper()`] say what ours are made of; [`archive`] and [`push`] hand them over.
//!
//! `make images` is this crate's program. The tests on a real node use the same functions, so that they
//! run what users get.

mod archive;
mod debian;
pub mod layout;
mod push;
mod runner;
mod wrapper;

pub use archive::archive;
pub use push::push;
pub use runner::runner;
pub use wrapper::wrapper;

use layout::Entry;

/// Who our servers run as: the numbers that manifests written for Porch's own images name. A name
/// would not do: a kubelet that is to see that it is not root's wants a number.
const USER: &str = "10001:10001";

/// The user's home, where Porch's images keep everything.
const HOME: &str = "home/nonroot";

/// Programs that ask for their user's name or home find both.
fn accounts() -> [Entry; 2] {
    [
        text(
            "etc/passwd",
            "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:10001:10001::/home/nonroot:/sbin/nologin\n",
        ),
        text("etc/group", "root:x:0:\nnonroot:x:10001:\n"),
    ]
}

fn text(path: &str, content: impl Into<Vec<u8>>) -> Entry {
    Entry::File {
        path: path.to_owned(),
        content: content.into(),
        mode: 0o644,
    }
}

fn link(path: impl Into<String>, target: impl Into<String>) -> Entry {
    Entry::Link {
        path: path.into(),
        target: target.into(),
    }
}

fn labels(title: &str) -> Vec<(String, String)> {
    let label =
        |name: &str, value: &str| (format!("org.opencontainers.image.{name}"), value.to_owned());
    vec![
        label("title", title),
        label("version", env!("CARGO_PKG_VERSION")),
        label("licenses", env!("CARGO_PKG_LICENSE")),
    ]
}
