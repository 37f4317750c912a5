//! `cp [OPTION…] SOURCE… DESTINATION`: what pod templates copy the wrapper with,
//! in an image that holds nothing else (`cp -a /wrapper-server/. DIR`).
//!
//! Content, modes and symbolic links are kept, or it fails and says why. Owners
//! and times are kept where that is allowed: usually this is a nobody that
//! writes into a directory of root's. A file that is in the way is replaced, not
//! written into, so that a second run works on read-only and on running programs.
//! Hard links become files of their own.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, FileTimes, Metadata},
    io,
    os::unix::fs::{MetadataExt as _, lchown, symlink},
    path::{Path, PathBuf},
    process::ExitCode,
};

const USAGE: &str = "cp [-adfpPrR] SOURCE… DESTINATION";

/// What a command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Args {
    recursive: bool,
    /// Symbolic links are copied as such.
    keep_links: bool,
    /// Owners and times are kept, if possible.
    preserve: bool,
    paths: Vec<PathBuf>,
}

/// A complaint, ready to be read.
type Complaint = String;

pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    let args = match parse(words) {
        Ok(args) => args,
        Err(complaint) => {
            eprintln!("cp: {complaint}; usage: {USAGE}");
            return ExitCode::FAILURE;
        }
    };
    let complaints = copy_all(&args);
    for complaint in &complaints {
        eprintln!("cp: {complaint}");
    }
    if complaints.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn parse(words: Vec<OsString>) -> Result<Args, Complaint> {
    let mut args = Args::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let letters = match &*text {
            "--" => {
                args.paths.extend(words.map(PathBuf::from));
                break;
            }
            "--archive" => "a",
            "--recursive" => "r",
            "--no-dereference" => "P",
            "--preserve" => "p",
            "--force" => "f",
            _ => match text.strip_prefix('-') {
                Some(letters) if !letters.is_empty() && !letters.starts_with('-') => letters,
                Some(letters) if !letters.is_empty() => {
                    return Err(format!("unknown option {text}"));
                }
                _ => {
                    args.paths.push(PathBuf::from(word));
                    continue;
                }
            },
        };
        for letter in letters.chars() {
            match letter {
                'a' => (args.recursive, args.keep_links, args.preserve) = (true, true, true),
                'r' | 'R' => (args.recursive, args.keep_links) = (true, true),
                'd' | 'P' => args.keep_links = true,
                'p' => args.preserve = true,
                // What is in the way is always replaced.
                'f' => {}
                _ => return Err(format!("unknown option -{letter}")),
            }
        }
    }
    match args.paths.len() {
        0 => Err("nothing to copy".to_owned()),
        1 => Err(format!("no destination for {}", args.paths[0].display())),
        _ => Ok(args),
    }
}

/// Copies every source, also after one of them failed.
fn copy_all(args: &Args) -> Vec<Complaint> {
    let Some((destination, sources)) = args.paths.split_last() else {
        return Vec::new();
    };
    let into = destination.is_dir();
    if sources.len() > 1 && !into {
        return vec![format!("{} is not a directory", destination.display())];
    }
    let mut complaints = Vec::new();
    for source in sources {
        // `file_name` ignores a last `/.`, which stands for what is in the directory.
        let is_content = matches!(
            source.as_os_str().as_encoded_bytes(),
            [.., b'/', b'.'] | b"."
        );
        let target = match source.file_name() {
            Some(name) if into && !is_content => destination.join(name),
            _ => destination.clone(),
        };
        if let Err(complaint) = check_nesting(source, &target) {
            complaints.push(complaint);
        } else {
            copy(args, source, &target, &mut complaints);
        }
    }
    complaints
}

/// A directory that is copied into itself would never end.
fn check_nesting(source: &Path, target: &Path) -> Result<(), Complaint> {
    let outer = target.parent().filter(|parent| *parent != OsStr::new(""));
    let real = |path: &Path| fs::canonicalize(path).ok();
    let target_place = real(target).or_else(|| real(outer.unwrap_or(Path::new("."))));
    match (real(source), target_place) {
        (Some(source), Some(place)) if place.starts_with(&source) => {
            let (source, target) = (source.display(), target.display());
            Err(format!("cannot copy {source} into itself, to {target}"))
        }
        _ => Ok(()),
    }
}

fn copy(args: &Args, source: &Path, target: &Path, complaints: &mut Vec<Complaint>) {
    if let Err(error) = try_copy(args, source, target, complaints) {
        let (source, target) = (source.display(), target.display());
        complaints.push(format!("cannot copy {source} to {target}: {error}"));
    }
}

/// Copies one path; what goes wrong below it is added to the complaints.
fn try_copy(
    args: &Args,
    source: &Path,
    target: &Path,
    complaints: &mut Vec<Complaint>,
) -> io::Result<()> {
    let of = if args.keep_links {
        fs::symlink_metadata(source)?
    } else {
        fs::metadata(source)?
    };
    if of.is_dir() {
        return copy_directory(args, source, &of, target, complaints);
    }
    if !of.is_file() && !of.is_symlink() {
        return Err(io::Error::other("neither a file, a directory nor a link"));
    }
    match fs::remove_file(target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if of.is_symlink() {
        symlink(fs::read_link(source)?, target)?;
    } else {
        fs::copy(source, target)?;
    }
    keep(args, &of, target)
}

fn copy_directory(
    args: &Args,
    source: &Path,
    of: &Metadata,
    target: &Path,
    complaints: &mut Vec<Complaint>,
) -> io::Result<()> {
    if !args.recursive {
        return Err(io::Error::other("it is a directory; -r copies directories"));
    }
    // A directory that exists belongs to somebody else, such as the kubelet: it stays as it is.
    let is_new = !target.is_dir();
    if is_new {
        fs::create_dir(target)?;
    }
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        copy(
            args,
            &entry.path(),
            &target.join(entry.file_name()),
            complaints,
        );
    }
    if is_new {
        keep(args, of, target)
    } else {
        Ok(())
    }
}

/// Gives the copy the mode of the original, and its owner and times where that is allowed.
fn keep(args: &Args, of: &Metadata, target: &Path) -> io::Result<()> {
    if args.preserve {
        let _ = lchown(target, Some(of.uid()), Some(of.gid()));
    }
    if of.is_symlink() {
        return Ok(());
    }
    if args.preserve
        && let Ok(modified) = of.modified()
    {
        let times = FileTimes::new().set_modified(modified);
        let _ = File::open(target).and_then(|file| file.set_times(times));
    }
    // Last: a change of owner takes some bits away.
    fs::set_permissions(target, of.permissions())
}

#[cfg(test)]
mod tests;
