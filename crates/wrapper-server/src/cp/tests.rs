use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::*;

/// A directory such as the wrapper's image has.
fn image() -> TempDir {
    let folder = TempDir::new().unwrap();
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("server"), "program").unwrap();
    fs::set_permissions(tools.join("server"), fs::Permissions::from_mode(0o555)).unwrap();
    symlink("server", tools.join("probe")).unwrap();
    fs::create_dir(tools.join("more")).unwrap();
    fs::write(tools.join("more/.hidden"), "text").unwrap();
    fs::set_permissions(tools.join("more"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::create_dir(folder.path().join("volume")).unwrap();
    folder
}

/// Runs in `folder`; paths of the command line are relative to it.
fn cp(folder: &TempDir, words: &str) -> Vec<Complaint> {
    let mut args = parse(words.split(' ').map(OsString::from).collect()).unwrap();
    for path in &mut args.paths {
        *path = PathBuf::from(format!("{}/{}", folder.path().display(), path.display()));
    }
    copy_all(&args)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn assert_whole(copy: &Path) {
    assert_eq!(fs::read(copy.join("server")).unwrap(), b"program");
    assert_eq!(mode(&copy.join("server")), 0o555);
    assert_eq!(
        fs::read_link(copy.join("probe")).unwrap(),
        Path::new("server")
    );
    assert_eq!(fs::read(copy.join("more/.hidden")).unwrap(), b"text");
    assert_eq!(mode(&copy.join("more")), 0o750);
}

#[test]
fn the_content_of_a_directory_lands_in_the_other_with_modes_and_links() {
    let folder = image();
    let volume = folder.path().join("volume");
    fs::set_permissions(&volume, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(cp(&folder, "-a tools/. volume"), [""; 0]);
    assert_whole(&volume);
    assert_eq!(
        mode(&volume),
        0o777,
        "a directory that is there stays as it is"
    );
}

#[test]
fn a_second_run_replaces_what_is_there() {
    let folder = image();
    cp(&folder, "-a tools/. volume");
    let program = folder.path().join("volume/server");
    let before = fs::metadata(&program).unwrap().ino();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&program, "an older program").unwrap();
    let kept_open = File::open(&program).unwrap();
    assert_eq!(cp(&folder, "-rf tools/. volume"), [""; 0]);
    assert_whole(&folder.path().join("volume"));
    assert_ne!(fs::metadata(&program).unwrap().ino(), before);
    drop(kept_open);
}

#[test]
fn a_link_to_a_directory_is_entered_by_its_dot() {
    let folder = image();
    symlink("tools", folder.path().join("other-name")).unwrap();
    assert_eq!(cp(&folder, "-a other-name/. volume"), [""; 0]);
    assert_whole(&folder.path().join("volume"));
}

#[test]
fn directories_and_files_are_copied_under_their_names_or_a_new_one() {
    let folder = image();
    let path = |name: &str| folder.path().join(name);
    assert_eq!(cp(&folder, "-r tools volume"), [""; 0]);
    assert_whole(&path("volume/tools"));
    assert_eq!(cp(&folder, "--archive -- tools new"), [""; 0]);
    assert_whole(&path("new"));
    assert_eq!(cp(&folder, "tools/server tools/probe volume"), [""; 0]);
    assert!(path("volume/probe").symlink_metadata().unwrap().is_file());
    assert_eq!(cp(&folder, "-p tools/server renamed"), [""; 0]);
    assert_eq!(mode(&path("renamed")), 0o555);
}

#[test]
fn times_are_kept_when_asked_for() {
    let folder = image();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let source = folder.path().join("tools/more/.hidden");
    let times = FileTimes::new().set_modified(long_ago);
    File::open(&source).unwrap().set_times(times).unwrap();
    cp(&folder, "-a tools/. volume");
    let copy = fs::metadata(folder.path().join("volume/more/.hidden")).unwrap();
    assert_eq!(copy.modified().unwrap(), long_ago);
}

#[test]
fn what_cannot_be_copied_is_told_and_the_rest_is_copied() {
    let folder = image();
    for (words, expected) in [
        ("tools volume", "it is a directory; -r copies directories"),
        ("nothing volume", "No such file or directory"),
        ("tools/server nowhere/server", "No such file or directory"),
        (
            "tools/server tools/probe nowhere",
            "nowhere is not a directory",
        ),
        ("-a tools tools/more", "into itself"),
        ("-a tools/. tools", "into itself"),
    ] {
        let complaints = cp(&folder, words);
        assert_eq!(complaints.len(), 1, "{words}: {complaints:?}");
        assert!(complaints[0].contains(expected), "{words}: {complaints:?}");
    }
    assert_eq!(cp(&folder, "-a nothing tools/server volume").len(), 1);
    assert!(folder.path().join("volume/server").exists());
}

#[test]
fn a_command_line_that_is_not_understood_is_told() {
    for (words, expected) in [
        ("-a", "nothing to copy"),
        ("-a x", "no destination for x"),
        ("-x a b", "unknown option -x"),
        ("--reflink a b", "unknown option --reflink"),
    ] {
        let told = parse(words.split(' ').map(OsString::from).collect()).unwrap_err();
        assert_eq!(told, expected, "{words}");
    }
}
