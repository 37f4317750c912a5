//! `make images`: builds both images from the release binaries, checks their sizes, and says what they
//! are. With `--push` they go to a registry, too.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use goflags::{Group, flag};
use images::layout::{ImageSpec, Layout};

const MEGABYTE: u64 = 1_000_000;

/// An image of ours, and what it may take on a node's disk.
struct Image {
    name: &'static str,
    most: u64,
    spec: fn(&Path) -> Result<ImageSpec>,
}

const IMAGES: [Image; 2] = [
    Image {
        name: "function-runner",
        most: 40 * MEGABYTE,
        spec: images::runner,
    },
    Image {
        name: "wrapper-server",
        most: 6 * MEGABYTE,
        spec: |binaries| Ok(images::wrapper(binaries)),
    },
];

static FLAGS: &[Group] = &[Group {
    title: "Flags",
    flags: &[
        flag::value(
            "binaries",
            "DIR",
            "target/release",
            "Where `make build` put the programs.",
        ),
        flag::value(
            "output",
            "DIR",
            "target/images",
            "Where to write an OCI layout (NAME/) and an archive for `docker load` (NAME.tar) each.",
        ),
        flag::value(
            "tag",
            "TAG",
            env!("CARGO_PKG_VERSION"),
            "Tag of both images.",
        ),
        flag::value(
            "push",
            "PREFIX",
            "",
            "Push them to PREFIX/NAME:TAG with skopeo; flags of `skopeo copy` follow after --.",
        ),
        flag::HELP,
    ],
}];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("images: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let flags = goflags::parse(FLAGS, env::args_os().skip(1))?;
    if flags.switch("help")? {
        print!("images [FLAGS]\n{}", goflags::help(FLAGS));
        return Ok(());
    }
    let (binaries, output) = (flags.text("binaries")?, flags.text("output")?);
    let (tag, prefix) = (flags.text("tag")?, flags.text("push")?);
    let tag = Some(tag.as_str()).filter(|tag| !tag.is_empty());
    let tag = tag.unwrap_or(env!("CARGO_PKG_VERSION"));
    let skopeo: Vec<String> = flags
        .rest
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    for image in IMAGES {
        let layout = build(&image, Path::new(&binaries), Path::new(&output), tag)?;
        if !prefix.is_empty() {
            let reference = format!("{}/{}:{tag}", prefix.trim_end_matches('/'), image.name);
            images::push(&layout, &reference, &skopeo)?;
            println!("pushed {reference}");
        }
    }
    Ok(())
}

/// Writes the image as a layout and as an archive, and says what it is.
fn build(image: &Image, binaries: &Path, output: &Path, tag: &str) -> Result<Layout> {
    let Image { name, most, spec } = image;
    let directory = output.join(name);
    let archive: PathBuf = output.join(format!("{name}.tar"));
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    let spec = spec(binaries)?;
    let layout = Layout::write(&directory, &spec).context("`make build` makes the programs")?;
    let sizes = layout.sizes()?;
    println!(
        "{name}:{tag}  {} packed, {} unpacked  {}",
        megabytes(sizes.packed),
        megabytes(sizes.unpacked),
        layout.digest()?
    );
    ensure!(
        sizes.unpacked <= *most,
        "{name} is larger than the {} that are promised",
        megabytes(*most)
    );
    images::archive(&layout, name, tag, &archive)?;
    println!("  {} and {}", directory.display(), archive.display());
    Ok(layout)
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(MEGABYTE / 10);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
