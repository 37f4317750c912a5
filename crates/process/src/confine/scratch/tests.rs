//! Directories that are made, kept and claimed. What is in them: [`trees`].

mod trees;

use std::{os::unix::fs::PermissionsExt as _, time::Duration};

use rustix::{
    fs::{Uid, XattrFlags, setxattr},
    thread::set_thread_uid,
};

use super::*;
use crate::Profile;

/// Runs a test as a user without privileges, as a runner is, where these tests are root's.
fn as_user<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    let unprivileged = || {
        if geteuid().is_root() {
            // Only of this thread, and of those that it begins.
            set_thread_uid(Uid::from_raw(10001)).unwrap();
        }
        test()
    };
    thread::scope(|scope| scope.spawn(unprivileged).join().unwrap())
}

/// A folder in which everybody may write, as `/tmp`.
fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o777);
    folder
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("not within a minute: {what}");
}

fn ground(program: &str) -> Ground {
    Ground::of(Path::new(program), &Profile::default())
}

#[test]
fn a_directory_is_kept_for_the_next_call_of_the_program_only_as_it_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::new(folder.path(), MOST).unwrap();
    let first = shelf.scratch(ground("/bin/sh")).unwrap();
    let path = first.path().to_owned();
    first.keep();
    let other = shelf.scratch(ground("/bin/cat")).unwrap();
    assert_ne!(other.path(), path, "the first program knows that path");
    let again = shelf.scratch(ground("/bin/sh")).unwrap();
    assert_eq!(again.path(), path);
    again.keep();
    let changes: [fn(&Path); 3] = [
        |path| fs::write(path.join("file"), "of another call").unwrap(),
        |path| set_mode(path, 0o500),
        |path| setxattr(path, c"user.x", b"of another call", XattrFlags::empty()).unwrap(),
    ];
    for change in changes {
        // By the call itself.
        let scratch = shelf.scratch(ground("/bin/sh")).unwrap();
        let path = scratch.path().to_owned();
        change(&path);
        scratch.keep();
        wait_until("it is removed", || !path.exists());
        // By somebody who knows the path, while nobody uses it.
        let scratch = shelf.scratch(ground("/bin/sh")).unwrap();
        let path = scratch.path().to_owned();
        scratch.keep();
        change(&path);
        let scratch = shelf.scratch(ground("/bin/sh")).unwrap();
        assert_ne!(scratch.path(), path);
        wait_until("it is removed", || !path.exists());
    }
}

#[test]
fn of_many_directories_those_used_last_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::new(folder.path(), MOST).unwrap();
    let several = [(); KEPT + 1].map(|()| shelf.scratch(ground("/bin/sh")).unwrap());
    let paths: Vec<PathBuf> = several.iter().map(|it| it.path().to_owned()).collect();
    several.into_iter().for_each(Scratch::keep);
    assert_eq!(shelf.clean.kept().len(), KEPT);
    assert!(!paths[0].exists() && paths[1..].iter().all(|path| path.exists()));
}

#[test]
fn a_folder_that_a_function_could_close_is_opened_again() {
    let folder = open_folder();
    as_user(|| {
        let own = folder.path().join("of-the-same-user");
        fs::create_dir(&own).unwrap();
        let shelf = Shelf::new(&own, MOST).unwrap();
        set_mode(&own, 0o000);
        let scratch = shelf.scratch(ground("/bin/sh")).unwrap();
        assert!(scratch.path().exists());
    });
}

#[test]
fn nothing_of_the_same_user_is_above_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::new(folder.path(), MOST).unwrap();
    let scratch = shelf.scratch(ground("/bin/sh")).unwrap();
    assert_eq!(scratch.path().parent(), Some(folder.path()));
}

#[test]
fn several_that_begin_at_once_with_the_same_number_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let begin = || {
        let shelf = Shelf::new(folder.path(), MOST).unwrap();
        let scratch = shelf.scratch(ground("/bin/sh")).unwrap();
        (shelf, scratch)
    };
    // The threads of this process have its number, as processes of several containers may.
    let begun: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(begin)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().unwrap();
        threads.into_iter().map(join).collect()
    });
    for (_, scratch) in &begun {
        assert!(scratch.path().exists());
    }
    for (shelf, scratch) in begun {
        drop(scratch);
        shelf.remove();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_paths_lead_to_now_decides_whether_rules_are_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    fs::write(&program, "one").unwrap();
    let text = program.to_str().unwrap();
    let before = ground(text);
    assert_eq!(before, ground(text));
    assert_ne!(before, ground("/bin/sh"));
    // As an upgrade does it.
    fs::write(folder.path().join("new"), "another").unwrap();
    fs::rename(folder.path().join("new"), &program).unwrap();
    assert_ne!(before, ground(text));
    let profile = Profile {
        network: true,
        ..Profile::default()
    };
    assert_ne!(ground(text), Ground::of(&program, &profile));
}

#[test]
fn what_a_killed_process_left_is_removed_and_what_a_living_one_uses_is_not() {
    let folder = open_folder();
    as_user(|| {
        let path = |name: &str| folder.path().join(name);
        let abandoned = path("function-runner-00000001-0123456789abcdef");
        fs::create_dir_all(abandoned.join("0/file")).unwrap();
        let others = [
            "another-program-1",
            "function-runner-cluster-1",
            "function-runner-1-2",
            "function-runner-00000001-node",
        ];
        for name in others {
            fs::create_dir(path(name)).unwrap();
        }
        let living = Shelf::new(folder.path(), MOST).unwrap();
        wait_until("what was left is removed", || !abandoned.exists());
        let scratch = living.scratch(ground("/bin/sh")).unwrap();
        let used = scratch.path().to_owned();
        // A function can close what tells others that its server lives.
        let lock = used
            .to_str()
            .unwrap()
            .rsplit_once('-')
            .unwrap()
            .0
            .to_owned();
        let lock = PathBuf::from(lock + ".lock");
        set_mode(&lock, 0o000);
        claim::remove_abandoned(folder.path());
        assert!(used.exists() && lock.exists());
        // As if killed: nothing is removed, but nobody is here any more.
        std::mem::forget(scratch);
        drop(living);
        assert!(used.exists());
        claim::remove_abandoned(folder.path());
        assert!(!used.exists() && !lock.exists());
        assert!(others.iter().all(|name| path(name).exists()));
    });
}
