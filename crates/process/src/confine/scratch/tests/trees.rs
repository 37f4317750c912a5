//! What functions leave in their directories, as deep and as closed as they like.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, fchmod, mkdirat, openat};

use super::*;
use crate::confine::scratch::{
    measure::{DEEPEST, FILES},
    remove::remove,
};

const MIB: u64 = 1 << 20;
static MEBIBYTE: [u8; 1 << 20] = [1; 1 << 20];

fn enter(above: impl AsFd, name: &str) -> OwnedFd {
    mkdirat(&above, name, Mode::RWXU).unwrap();
    openat(above, name, OFlags::DIRECTORY, Mode::empty()).unwrap()
}

/// Makes folders inside of each other, as a program does that goes into each one. Returns
/// the last one.
fn nest(path: &Path, levels: usize) -> OwnedFd {
    fs::create_dir(path).unwrap();
    let top = openat(CWD, path, OFlags::DIRECTORY, Mode::empty()).unwrap();
    (1..levels).fold(top, |above, _| enter(above, "d"))
}

/// A file of a mebibyte, in a folder that only a descriptor leads to.
fn write_in(folder: &OwnedFd) {
    let flags = OFlags::CREATE | OFlags::WRONLY;
    let file = openat(folder, "file", flags, Mode::RUSR).unwrap();
    io::Write::write_all(&mut fs::File::from(file), &MEBIBYTE).unwrap();
}

#[test]
fn what_a_program_wrote_is_measured_and_removed() {
    let folder = open_folder();
    as_user(|| {
        let shelf = Shelf::new(folder.path(), MOST).unwrap();
        let scratch = shelf.scratch(ground("/bin/sh")).unwrap();
        let path = scratch.path().to_owned();
        assert_eq!(measure(&path, &[]), 0);
        write_in(&nest(&path.join("d"), DEEPEST - 1));
        let unnamed = tempfile::tempfile_in(&path).unwrap();
        io::Write::write_all(&mut &unnamed, &MEBIBYTE).unwrap();
        let named = measure(&path, &[]);
        assert!((MIB..2 * MIB).contains(&named), "{named}");
        let own = [rustix::process::getpid()];
        assert!(measure(&path, &own) >= 2 * MIB);
        drop(scratch);
        wait_until("it is removed", || !path.exists());
    });
}

#[test]
fn folders_inside_of_each_other_are_bounded_in_number_and_take_neither_stack_nor_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("top");
    drop(nest(&path, DEEPEST));
    assert_ne!(measure(&path, &[]), u64::MAX);
    remove(&path).unwrap();
    // More than a path can name, than descriptors are open, and than fit on this stack.
    write_in(&nest(&path, 3_000));
    assert_eq!(measure(&path, &[]), u64::MAX);
    let small = thread::Builder::new().stack_size(64 << 10);
    let removing = path.clone();
    let removed = small.spawn(move || remove(&removing)).unwrap();
    removed.join().unwrap().unwrap();
    assert!(!path.exists());
}

#[test]
fn folders_that_a_function_has_closed_to_itself_are_measured_and_removed() {
    let folder = open_folder();
    as_user(|| {
        for (mode, levels) in [
            (0, 3),
            (0o100, 3),
            (0o300, 3),
            (0o400, 3),
            (0o500, 3),
            (0, 100),
        ] {
            let path = folder.path().join(format!("{mode:o}-{levels}"));
            fs::create_dir(&path).unwrap();
            let mut open = vec![openat(CWD, &path, OFlags::DIRECTORY, Mode::empty()).unwrap()];
            for _ in 1..levels {
                open.push(enter(open.last().unwrap(), "d"));
            }
            write_in(open.last().unwrap());
            let close = || {
                for folder in &open {
                    fchmod(folder, Mode::from_raw_mode(mode)).unwrap();
                }
            };
            close();
            let bytes = measure(&path, &[]);
            assert!((MIB..2 * MIB).contains(&bytes), "{mode:o}: {bytes}");
            close();
            remove(&path).unwrap();
            assert!(!path.exists());
        }
    });
}

#[test]
fn a_link_leads_nowhere() {
    let folder = open_folder();
    as_user(|| {
        let (outside, inside) = (folder.path().join("outside"), folder.path().join("inside"));
        fs::create_dir_all(outside.join("deeper")).unwrap();
        write_in(&openat(CWD, &outside, OFlags::DIRECTORY, Mode::empty()).unwrap());
        set_mode(&outside, 0o500);
        fs::create_dir_all(inside.join("d")).unwrap();
        let link = |to: &Path, name: &str| {
            let path = inside.join(name);
            std::os::unix::fs::symlink(to, &path).unwrap();
            path
        };
        let itself = link(&outside, "link");
        link(&outside, "d/link");
        link(&outside.join("file"), "d/file");
        assert!(measure(&inside, &[]) < MIB);
        remove(&itself).unwrap_err();
        remove(&inside).unwrap();
        assert!(!inside.exists() && outside.join("file").exists());
        assert_eq!(outside.metadata().unwrap().mode() & 0o777, 0o500);
        set_mode(&outside, 0o700);
    });
}

#[test]
fn many_folders_are_removed_whatever_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("top");
    for outer in 1..=20 {
        // A number is what a folder is called that is moved up.
        for inner in ["1/1/1/1", "x/y/z", "2"] {
            fs::create_dir_all(path.join(outer.to_string()).join(inner)).unwrap();
        }
        fs::write(path.join(format!("{outer}/x/y/file")), "").unwrap();
        fs::write(path.join(format!("{}", outer + 20)), "").unwrap();
    }
    remove(&path).unwrap();
    assert!(!path.exists());
    remove(&path).unwrap();
}

#[test]
fn more_files_than_can_be_counted_are_too_many() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..=FILES {
        fs::create_dir(folder.path().join(number.to_string())).unwrap();
    }
    assert_eq!(measure(folder.path(), &[]), u64::MAX);
}
