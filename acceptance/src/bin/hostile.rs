//! A malicious function. A line of its list says what to try: `# try: WHAT [WORD…]`. If that
//! works, the function returns its list with a comment about what it got; otherwise it fails
//! and says what stopped it.

use std::{
    env,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    net::{TcpStream, UdpSocket},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, ExitCode, Stdio, exit},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{
    DumpableBehavior, Pid, Signal, getppid, kill_process, set_dumpable_behavior, setsid,
    test_kill_process,
};

const MIB: usize = 1 << 20;

/// What comes later than this is not let through.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// How long a daemon may take to begin on a busy machine, and how long it then stays:
/// longer than any test waits for its end.
const BEGUN_WITHIN: Duration = Duration::from_secs(20);
const STAYS: Duration = Duration::from_secs(300);

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
        ["temporary"] => temporary(1),
        ["temporary", seconds] => temporary(number(seconds)?),
        ["runner", what] => read(&format!("/proc/{}/{what}", runner())),
        ["signal"] => {
            let runner = Pid::from_raw(runner()).ok_or(io::ErrorKind::NotFound)?;
            kill_process(runner, Signal::TERM)?;
            kill_process(runner, Signal::TERM)?;
            Ok("signalled".into())
        }
        ["ptrace"] => ptrace(runner()),
        ["tcp", address] => {
            let address = address.parse().map_err(io::Error::other)?;
            TcpStream::connect_timeout(&address, ANSWERED_WITHIN).map(|_| "connected".into())
        }
        ["udp", address] => {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.send_to(b"hello", address).map(|_| "sent".into())
        }
        ["ask", server] => ask(server),
        // As fast as it goes, but not for ever: where nothing stops it, a machine has
        // two thousand processes for a minute, not more.
        ["fork", "0"] => attempt(&["sleep"]),
        ["fork", depth] => {
            let next = (number(depth)? - 1).to_string();
            for _ in 0..2 {
                helper(&["fork", &next]).bare().group().spawn()?;
            }
            attempt(&["sleep"])
        }
        ["fill"] => fill(16_000, &env::temp_dir(), true),
        ["fill", mib] => {
            fill(number(mib)?, &env::temp_dir(), true)?;
            attempt(&["sleep"])
        }
        ["fill", mib, folder] => {
            fill(number(mib)?, Path::new(folder), false)?;
            attempt(&["sleep"])
        }
        ["allocate", mib] => Ok(allocate(number(mib)?)),
        ["allocate-in-many", count, mib] => {
            let mut helpers = Vec::new();
            for _ in 0..number(count)? {
                helpers.push(helper(&["allocate", mib]).group().spawn()?);
            }
            helpers
                .iter_mut()
                .try_for_each(|helper| helper.wait().map(drop))?;
            Ok("allocated".into())
        }
        ["daemon"] => daemon().map(|pid| format!("a daemon: {pid}")),
        ["daemon-begins", file] => {
            setsid()?;
            helper(&["daemon-stays", file]).bare().spawn()?;
            Ok("begun".into())
        }
        ["daemon-stays", file] => {
            // Refused where it is confined.
            let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
            // In one step: whoever finds the file finds the number in it.
            let draft = format!("{file}-draft");
            fs::write(&draft, std::process::id().to_string())?;
            fs::rename(draft, file)?;
            thread::sleep(STAYS);
            Ok("stayed".into())
        }
        ["until-gone", path] => {
            while Path::new(path).exists() {
                thread::sleep(Duration::from_millis(50));
            }
            Ok("gone".into())
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

/// Asks a name server for the address of a name.
fn ask(server: &str) -> io::Result<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_read_timeout(Some(ANSWERED_WITHIN))?;
    // A question for the addresses of the root, which asks to be passed on.
    let question = [7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1];
    socket.send_to(&question, server)?;
    let count = socket.recv(&mut [0; 512])?;
    Ok(format!("{count} bytes"))
}

/// Leaves a file, says where, and stays for a while.
fn temporary(seconds: usize) -> io::Result<String> {
    let path = env::temp_dir().join("secret");
    fs::write(&path, "of another call")?;
    eprintln!("{}", path.display());
    thread::sleep(Duration::from_secs(seconds as u64));
    Ok(path.display().to_string())
}

/// Files with names and, if wished, without.
fn fill(mib: usize, folder: &Path, some_without: bool) -> io::Result<String> {
    let chunk = vec![7; MIB];
    let mut files = Vec::new();
    for number in 0..mib / 16 {
        let path = folder.join(number.to_string());
        let mut file = File::create(&path)?;
        for _ in 0..16 {
            file.write_all(&chunk)?;
        }
        if some_without && number % 2 == 0 {
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

/// Leaves a process behind: started by one that has ended, in a session of its own, without
/// an environment and, where that is allowed, not dumpable. Returns its number once it runs.
fn daemon() -> io::Result<Pid> {
    let file = env::temp_dir().join("daemon");
    // Of a call before, where calls share a folder.
    let _ = fs::remove_file(&file);
    let words = ["daemon-begins", file.to_str().unwrap_or_default()];
    // Not the leader of a group: a leader cannot begin a session.
    let begun = helper(&words).bare().spawn()?.wait()?;
    if !begun.success() {
        return Err(io::Error::other("the daemon did not begin"));
    }
    let deadline = Instant::now() + BEGUN_WITHIN;
    let pid = loop {
        match fs::read_to_string(&file) {
            Ok(pid) => break pid,
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    };
    let pid = pid.parse().ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
    test_kill_process(pid)?;
    Ok(pid)
}

/// Attaches to a process. No safe function of Rust does that, but Perl makes any system call.
/// `PTRACE_SEIZE` comes first, because it does not stop what it attaches to.
fn ptrace(pid: i32) -> io::Result<String> {
    const PTRACE: u32 = if cfg!(target_arch = "x86_64") {
        101
    } else {
        117
    };
    let script = "for $how (0x4206, 16) { \
                  $got = syscall($ARGV[0] + 0, $how, $ARGV[1] + 0, 0, 0); \
                  $got == 0 and exit 0; print STDERR \"ptrace: $!\\n\" } exit 1";
    let perl = Command::new("/usr/bin/perl")
        .args(["-e", script, &PTRACE.to_string(), &pid.to_string()])
        .status()?;
    match perl.success() {
        true => Ok("attached".into()),
        false => Err(io::Error::other("it cannot attach")),
    }
}

/// Itself again, with other words.
struct Helper(Command);

fn helper(words: &[&str]) -> Helper {
    let mut command = Command::new(env::current_exe().unwrap_or_default());
    command.args(words);
    Helper(command)
}

impl Helper {
    /// Without an environment, and without the function's pipes.
    fn bare(mut self) -> Self {
        self.0.env_clear();
        self.0.stdin(Stdio::null());
        self.0.stdout(Stdio::null()).stderr(Stdio::null());
        self
    }

    /// In a group of its own.
    fn group(mut self) -> Self {
        self.0.process_group(0);
        self
    }

    fn spawn(mut self) -> io::Result<Child> {
        self.0.spawn()
    }
}

fn runner() -> i32 {
    getppid().map_or(1, Pid::as_raw_pid)
}

fn number(text: &str) -> io::Result<usize> {
    text.parse().map_err(io::Error::other)
}
