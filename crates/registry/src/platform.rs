//! Platforms, and which of an index's images runs on one.

use std::{env, fmt};

use crate::manifest::Descriptor;

/// An operating system and a processor, in Go's words, as registries use them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    pub os: String,
    pub architecture: String,
    pub variant: Option<String>,
}

impl Platform {
    /// Linux on this machine's processor: function pods run beside the runner.
    pub fn host() -> Self {
        let (architecture, variant) = match env::consts::ARCH {
            "x86_64" => ("amd64", None),
            "x86" => ("386", None),
            "aarch64" => ("arm64", Some("v8")),
            "arm" => ("arm", Some("v7")),
            "powerpc64" => ("ppc64le", None),
            "loongarch64" => ("loong64", None),
            other => (other, None),
        };
        Self {
            os: "linux".into(),
            architecture: architecture.into(),
            variant: variant.map(str::to_owned),
        }
    }

    /// The image of an index to run here: the best fit, of equals the first.
    pub(crate) fn choose<'a>(&self, manifests: &'a [Descriptor]) -> Option<&'a Descriptor> {
        let fitting = |descriptor: &'a Descriptor| {
            let fit = match &descriptor.platform {
                Some(platform) => self.fit(platform)?,
                // An index of one image need not say what everybody knows.
                None if manifests.len() == 1 => u8::MAX,
                None => return None,
            };
            Some((fit, descriptor))
        };
        let candidates = manifests.iter().filter_map(fitting);
        let best = candidates.min_by_key(|(fit, _)| *fit);
        best.map(|(_, descriptor)| descriptor)
    }

    /// How well an image for `offered` runs here: 0 is best, `None` not at all.
    fn fit(&self, offered: &Self) -> Option<u8> {
        if offered.os != self.os || offered.architecture != self.architecture {
            return None;
        }
        let level =
            |platform: &Self| variant_level(platform.variant.as_deref(), &self.architecture);
        // A processor runs what was built for it or for an older one.
        level(self)?.checked_sub(level(offered)?)
    }
}

/// Variants are counted: `v7` is 7. Without a name the usual variant is meant, which
/// for amd64 is the one that every processor runs.
fn variant_level(variant: Option<&str>, architecture: &str) -> Option<u8> {
    match (variant, architecture) {
        (Some(variant), _) => variant.strip_prefix('v')?.parse().ok(),
        (None, "arm64") => Some(8),
        (None, "arm") => Some(7),
        (None, _) => Some(1),
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    fn platform(text: &str) -> Platform {
        let mut parts = text.split('/').map(str::to_owned);
        Platform {
            os: parts.next().unwrap(),
            architecture: parts.next().unwrap(),
            variant: parts.next(),
        }
    }

    #[test]
    fn the_best_image_for_a_platform_is_chosen() {
        for (host, offers, chosen, why) in [
            (
                "linux/amd64",
                "linux/arm64 linux/amd64",
                Some(1),
                "the only one",
            ),
            (
                "linux/amd64",
                "windows/amd64 linux/amd64",
                Some(1),
                "linux only",
            ),
            (
                "linux/amd64",
                "linux/arm64 windows/amd64",
                None,
                "none fits",
            ),
            (
                "linux/amd64",
                "unknown/unknown linux/amd64",
                Some(1),
                "attestations do not run",
            ),
            (
                "linux/amd64",
                "linux/amd64/v3 linux/amd64",
                Some(1),
                "a baseline processor",
            ),
            (
                "linux/amd64",
                "linux/amd64/v3",
                None,
                "needs instructions that may be missing",
            ),
            (
                "linux/amd64",
                "linux/amd64 linux/amd64",
                Some(0),
                "the first of equals",
            ),
            (
                "linux/amd64",
                "linux/amd64/v1",
                Some(0),
                "the same by another name",
            ),
            (
                "linux/arm64/v8",
                "linux/arm64 linux/arm64/v8",
                Some(0),
                "the same",
            ),
            (
                "linux/arm64/v8",
                "linux/arm64/v9 linux/arm64/v8",
                Some(1),
                "not too new",
            ),
            (
                "linux/arm/v7",
                "linux/arm/v5 linux/arm/v6 linux/arm64",
                Some(1),
                "the nearest older",
            ),
            (
                "linux/arm/v6",
                "linux/arm/v7 linux/arm/v6",
                Some(1),
                "not too new",
            ),
            ("linux/arm/v6", "linux/arm", None, "none said is v7"),
            ("linux/amd64", "linux/amd64/odd", None, "no known variant"),
            ("linux/amd64", "-", Some(0), "one image, nothing said"),
            ("linux/amd64", "- -", None, "nothing said about two"),
        ] {
            let offered = offers.split(' ').map(|text| Descriptor {
                digest: Digest::of(b""),
                platform: (text != "-").then(|| platform(text)),
            });
            let offered: Vec<Descriptor> = offered.collect();
            let found = platform(host).choose(&offered);
            let place =
                found.and_then(|found| offered.iter().position(|offer| std::ptr::eq(offer, found)));
            assert_eq!(place, chosen, "{host} of {offers}: {why}");
        }
    }
}
