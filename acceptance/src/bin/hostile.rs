//! A function that means harm. What it tries is a line of its list, `# try: WHAT [WORD…]`.
//! It succeeds with its list, and a comment of what it got, if it could do it; otherwise it
//! fails and says what stopped it.

use std::{
    env,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    net::{TcpStream, UdpSocket},
    os::unix::process::CommandExt as _,
    process::{Child, Command, ExitCode, Stdio, exit},
    thread,
    time::Duration,
};

use rustix::process::{
    DumpableBehavior, Pid, Signal, getppid, kill_process, set_dumpable_behavior, setsid,
};

const MIB: usize = 1 << 20;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if !words.is_empty() {
        // One of its own helpers.
        return ended(attempt(&words));
    }
    let mut list = String::new();
    if let Err(error) = io::stdin().read_to_string(&mut list) {
        return ended(Err(error));
    }
    let line = list.lines().find_map(|line| line.strip_prefix("# try: "));
    let words: Vec<&str> = line.unwrap_or("nothing").split(' ').collect();
    let got = attempt(&words);
    if let Ok(got) = &got {
        println!("{list}# got: {got}");
    }
    ended(got)
}

fn ended(got: io::Result<String>) -> ExitCode {
    match got {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stopped: {error}");
            ExitCode::FAILURE
        }
    }
}

fn attempt(words: &[&str]) -> io::Result<String> {
    match words {
        ["nothing"] => Ok("nothing".into()),
        ["read", path] => read(path),
        ["write", path] => fs::write(path, "mine").map(|()| "wrote".into()),
        ["temporary"] => temporary(),
        ["runner", what] => read(&format!("/proc/{}/{what}", runner())),
        ["signal"] => {
            let runner = Pid::from_raw(runner()).ok_or(io::ErrorKind::NotFound)?;
            kill_process(runner, Signal::TERM)?;
            kill_process(runner, Signal::TERM)?;
            Ok("signalled".into())
        }
        ["tcp", address] => TcpStream::connect(address).map(|_| "connected".into()),
        ["udp", address] => {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.send_to(b"hello", address).map(|_| "sent".into())
        }
        // As fast as it goes, but not for ever: where nothing stops it, a machine has
        // two thousand processes for a minute, not more.
        ["fork", "0"] => attempt(&["sleep"]),
        ["fork", depth] => {
            let next = (number(depth)? - 1).to_string();
            for _ in 0..2 {
                helper(&["fork", &next], true)?;
            }
            attempt(&["sleep"])
        }
        ["fill"] => fill(16_000),
        ["fill", mib] => {
            fill(number(mib)?)?;
            attempt(&["sleep"])
        }
        ["allocate", mib] => Ok(allocate(number(mib)?)),
        ["allocate-in-many", count, mib] => {
            let mut helpers = Vec::new();
            for _ in 0..number(count)? {
                helpers.push(helper(&["allocate", mib], false)?);
            }
            helpers
                .iter_mut()
                .try_for_each(|helper| helper.wait().map(drop))?;
            Ok("allocated".into())
        }
        ["daemon"] => helper(&["daemon-begins"], true).map(|_| "a daemon".into()),
        ["daemon-begins"] => {
            setsid()?;
            helper(&["sleep"], true)?;
            Ok("begun".into())
        }
        ["stay"] => {
            thread::sleep(Duration::from_secs(600));
            Ok("stayed".into())
        }
        ["sleep"] => {
            // Refused where it is confined.
            let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
            thread::sleep(Duration::from_secs(60));
            Ok("slept".into())
        }
        ["open", count] => {
            let own = env::current_exe()?;
            let open = (0..number(count)?).map(|_| File::open(&own));
            let open: Vec<File> = open.collect::<io::Result<_>>()?;
            Ok(format!("{} files", open.len()))
        }
        _ => exit(99),
    }
}

fn read(path: &str) -> io::Result<String> {
    let mut bytes = vec![0; 4096];
    let count = File::open(path)?.read(&mut bytes)?;
    bytes.truncate(count);
    Ok(String::from_utf8_lossy(&bytes).escape_default().to_string())
}

/// Leaves a file, says where, and stays for a second.
fn temporary() -> io::Result<String> {
    let path = env::temp_dir().join("secret");
    fs::write(&path, "of another call")?;
    eprintln!("{}", path.display());
    thread::sleep(Duration::from_secs(1));
    Ok(path.display().to_string())
}

/// Files with names and without.
fn fill(mib: usize) -> io::Result<String> {
    let chunk = vec![7; MIB];
    let mut files = Vec::new();
    for number in 0..mib / 16 {
        let path = env::temp_dir().join(number.to_string());
        let mut file = File::create(&path)?;
        for _ in 0..16 {
            file.write_all(&chunk)?;
        }
        if number % 2 == 0 {
            fs::remove_file(path)?;
            files.push(file);
        }
        // Slower than the disk of any machine: what stops it is not the disk.
        thread::sleep(Duration::from_millis(20));
    }
    Ok(format!("{mib} MiB"))
}

fn allocate(mib: usize) -> String {
    let mut held = Vec::new();
    for _ in 0..mib {
        held.push(vec![1_u8; MIB]);
        thread::sleep(Duration::from_micros(200));
    }
    thread::sleep(Duration::from_secs(2));
    format!("{} MiB", held.len())
}

/// Itself again, in a group of its own, without an environment if `bare`.
fn helper(words: &[&str], bare: bool) -> io::Result<Child> {
    let mut command = Command::new(env::current_exe()?);
    command.args(words).process_group(0);
    if bare {
        command.env_clear();
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    command.spawn()
}

fn runner() -> i32 {
    getppid().map_or(1, Pid::as_raw_pid)
}

fn number(text: &str) -> io::Result<usize> {
    text.parse().map_err(io::Error::other)
}
