//! Against real git: what the files say is what git says, and what is moved is moved as git does it,
//! or git is asked.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::{RefChange, RefFiles, RefUpdate, id_in};
use crate::git::access::NotDirect;
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, Refs, Repository};

/// A repository with refs of every kind, and a linked work tree beside it.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let top = project.top();
        project.git(project.folder.path(), &["init", "-q", "-b", "main", "top"]);
        let commit = ["commit", "-q", "--allow-empty", "-m", "first"];
        project.git(&top, &commit);
        project.git(&top, &["tag", "-a", "v1", "-m", "one"]);
        project.git(&top, &["branch", "packed/away"]);
        project.git(&top, &["branch", "packed/moved"]);
        project.git(&top, &["pack-refs", "--all"]);
        project.git(&top, &commit);
        project.git(&top, &["branch", "-f", "packed/moved"]);
        project.git(&top, &["branch", "ralph/übung"]);
        project.git(&top, &["tag", "light"]);
        project.git(&top, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
        let points = "refs/remotes/origin/HEAD";
        project.git(&top, &["symbolic-ref", points, "refs/remotes/origin/main"]);
        project.git(&top, &["update-ref", "refs/bisect/bad", "HEAD"]);
        project.git(&top, &["worktree", "add", "-q", "../linked", "-b", "other"]);
        let linked = project.linked();
        project.git(&linked, &["update-ref", "refs/bisect/good-1", "HEAD~1"]);
        project.git(&linked, &["update-ref", "refs/worktree/own", "HEAD"]);
        project
    }

    fn top(&self) -> std::path::PathBuf {
        self.folder.path().join("top")
    }

    fn linked(&self) -> std::path::PathBuf {
        self.folder.path().join("linked")
    }

    fn git(&self, directory: &Path, args: &[&str]) {
        let output = Command::new("git")
            .current_dir(directory)
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("HOME", self.folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }
}

fn repository(directory: &Path) -> Repository {
    Repository::discover(directory).unwrap()
}

fn asked(repository: &Repository) -> Refs {
    let git = repository.git(Duration::from_secs(60));
    repository.refs(&git).unwrap()
}

/// A reader that git has answered beside once.
fn reader(repository: &Repository) -> RefFiles {
    let mut reader = RefFiles::default();
    assert_eq!(read(&mut reader, repository), None);
    assert!(reader.seen.is_some());
    reader.git_answered();
    reader
}

/// The refs; none where git is to be asked.
fn read(reader: &mut RefFiles, repository: &Repository) -> Option<Refs> {
    match reader.list(repository) {
        Ok(refs) => Some(refs),
        Err(NotDirect::AskGit(_)) => None,
        Err(NotDirect::Failed(error)) => panic!("{error:?}"),
    }
}

/// True where it was carried out, false where git is to be asked.
fn is_done(update: RefUpdate<'_>, repository: &Repository) -> bool {
    match update.carry_out(repository, &mut reader(repository)) {
        Ok(()) => true,
        Err(NotDirect::AskGit(_)) => false,
        Err(NotDirect::Failed(error)) => panic!("{error:?}"),
    }
}

fn update(change: RefChange<'_>) -> RefUpdate<'_> {
    RefUpdate {
        change,
        committer: "a <a@b>",
        message: "why",
        ready: None,
    }
}

#[test]
fn the_files_say_what_git_says() {
    let project = Project::new();
    for directory in [project.top(), project.linked()] {
        let repository = repository(&directory);
        let mut reader = reader(&repository);
        let refs = read(&mut reader, &repository).unwrap();
        assert!(refs.len() > 9, "{refs:?}");
        assert_eq!(refs, asked(&repository));
    }
}

#[test]
fn what_changes_is_seen() {
    let project = Project::new();
    let top = project.top();
    let repository = repository(&top);
    let mut reader = reader(&repository);
    let all: &[&[&str]] = &[
        &["branch", "-D", "packed/away"],
        &["branch", "new/one"],
        &["pack-refs", "--all"],
        &["branch", "-D", "new/one"],
        &["symbolic-ref", "refs/heads/alias", "refs/heads/main"],
        &["symbolic-ref", "refs/heads/twice", "refs/heads/alias"],
        &["checkout", "-q", "--detach"],
    ];
    for command in all {
        project.git(&top, command);
        let refs = read(&mut reader, &repository);
        assert_eq!(refs, Some(asked(&repository)), "{command:?}");
    }
}

#[test]
fn packed_refs_are_read_again_only_where_their_file_changed() {
    let project = Project::new();
    let repository = repository(&project.top());
    let path = repository.common_dir.join("packed-refs");
    let mut reader = reader(&repository);
    read(&mut reader, &repository).unwrap();
    assert!(reader.packed.is_none(), "so young a file may change unseen");
    let stat = crate::stat::stat(&fs::symlink_metadata(&path).unwrap());
    let refs = Refs::from([("refs/heads/known".to_owned(), repository.format.zero())]);
    reader.packed = Some(super::Packed {
        stat,
        refs: refs.into(),
    });
    let refs = read(&mut reader, &repository).unwrap();
    assert!(refs.contains_key("refs/heads/known"));
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    let refs = read(&mut reader, &repository).unwrap();
    assert_eq!(refs, asked(&repository));
}

/// Where something is out of the ordinary, with what makes it so.
#[test]
fn git_is_asked_where_something_is_odd() {
    let id = "1234567890123456789012345678901234567890";
    let cases = [
        ("refs/heads/empty", String::new()),
        ("refs/heads/garbage", "garbage\n".to_owned()),
        ("refs/heads/zero", format!("{}\n", "0".repeat(40))),
        ("refs/heads/long", format!("{}\n", "1".repeat(64))),
        ("refs/heads/plus", format!("{}\n", "+1".repeat(20))),
        ("refs/heads/more", format!("{id} more\n")),
        ("refs/heads/unended", id.to_owned()),
        ("refs/heads/dangling", "ref: refs/heads/none\n".to_owned()),
        ("refs/heads/round", "ref: refs/heads/round\n".to_owned()),
        ("refs/heads/outside", "ref: HEAD\n".to_owned()),
        ("refs/heads/a b", format!("{id}\n")),
        ("refs/heads/a..b", format!("{id}\n")),
        ("refs/heads/a@{b", format!("{id}\n")),
        ("packed-refs", "bogus\n".to_owned()),
        ("packed-refs", format!("{id} refs/heads/unended")),
        ("packed-refs", format!("{id} refs/heads/a b\n")),
        ("packed-refs", format!("{id} refs/bisect/a\n")),
        ("packed-refs", format!("{id} refs/a\n{id} refs/a\n")),
        ("HEAD", "garbage\n".to_owned()),
        ("HEAD", String::new()),
        ("HEAD", "ref: refs/heads/.invalid\n".to_owned()),
        ("config", "[broken\n".to_owned()),
        ("config.worktree", String::new()),
        ("reftable", String::new()),
    ];
    let project = Project::new();
    let repository = repository(&project.top());
    let mut reader = reader(&repository);
    for (name, text) in cases {
        let path = repository.git_dir.join(name);
        let before = fs::read(&path).ok();
        fs::write(&path, &text).unwrap();
        assert_eq!(read(&mut reader, &repository), None, "{name}: {text:?}");
        match before {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        assert!(read(&mut reader, &repository).is_some(), "{name}: {text:?}");
    }
    let link = repository.git_dir.join("refs/heads/link");
    std::os::unix::fs::symlink("main", &link).unwrap();
    assert_eq!(read(&mut reader, &repository), None);
}

#[test]
fn a_configuration_that_leads_elsewhere_is_left_to_git() {
    let project = Project::new();
    let repository = repository(&project.top());
    let path = repository.git_dir.join("config");
    let before = fs::read_to_string(&path).unwrap();
    for more in [
        "[include]\n\tpath = more\n",
        "[extensions]\n\trefStorage = files\n",
    ] {
        fs::write(&path, format!("{before}{more}")).unwrap();
        let mut reader = RefFiles::default();
        assert_eq!(read(&mut reader, &repository), None);
        assert_eq!(reader.seen, None, "{more}");
    }
}

/// One line of a log without the time in it.
fn last_line(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let line = text.lines().next_back().unwrap();
    let (head, message) = line.split_once('\t').unwrap();
    let mut words: Vec<&str> = head.rsplitn(3, ' ').collect();
    let zone = words.remove(0);
    let time = words.remove(0);
    assert!(time.parse::<i64>().unwrap() > 1_700_000_000, "{line}");
    format!("{} {zone}\t{message}", words[0])
}

#[test]
fn a_branch_moves_as_git_moves_it() {
    let project = Project::new();
    for (directory, name) in [
        (project.top(), "refs/heads/main"),
        (project.linked(), "refs/heads/other"),
    ] {
        let repository = repository(&directory);
        let before = asked(&repository);
        project.git(
            &directory,
            &["commit", "-q", "--allow-empty", "-m", "second"],
        );
        let to = asked(&repository)[name];
        project.git(
            &directory,
            &["update-ref", "-m", "why", name, &before[name].to_string()],
        );
        let ready = project.top().join(".git/ready");
        let from = before[name];
        let it = RefUpdate {
            ready: Some(&ready),
            ..update(RefChange::Move { name, from, to })
        };
        // One of the two finds a file that is ready, the other none.
        if name == "refs/heads/other" {
            fs::write(project.top().join(".git/ready"), format!("{to}\n")).unwrap();
        }
        let logs = [
            repository.common_dir.join("logs").join(name),
            repository.git_dir.join("logs/HEAD"),
        ];
        assert!(is_done(it, &repository));
        assert_eq!(asked(&repository)[name], to);
        let ours = logs.each_ref().map(|log| last_line(log));
        let back = before[name].to_string();
        project.git(&directory, &["update-ref", "-m", "why", name, &back]);
        project.git(
            &directory,
            &["update-ref", "-m", "why", name, &to.to_string()],
        );
        assert_eq!(ours, logs.each_ref().map(|log| last_line(log)));
        let branch = repository.common_dir.join(name);
        assert_eq!(
            id_in(&fs::read(branch).unwrap(), repository.format),
            Some(to)
        );
        assert_eq!(locks(&repository), Vec::<String>::new());
        assert!(!project.top().join(".git/ready").exists());
        // It is not where it was thought to be.
        assert!(!is_done(it, &repository));
        assert_eq!(locks(&repository), Vec::<String>::new());
    }
}

/// Every way in which a branch is left to git, and that nothing moves then.
#[test]
fn a_branch_that_is_out_of_the_ordinary_is_left_to_git() {
    let project = Project::new();
    let repository = repository(&project.top());
    let name = "refs/heads/main";
    let from = asked(&repository)[name];
    project.git(
        &project.top(),
        &["commit", "-q", "--allow-empty", "-m", "second"],
    );
    let to = asked(&repository)[name];
    project.git(&project.top(), &["update-ref", name, &from.to_string()]);
    let moves = |name: &str, to| is_done(update(RefChange::Move { name, from, to }), &repository);
    assert!(!moves("refs/heads/packed/moved", to), "no HEAD");
    assert!(!moves("refs/stash", to), "no branch");
    assert!(!moves(name, repository.format.zero()), "no object");
    for lock in ["refs/heads/main.lock", "HEAD.lock"] {
        let lock = repository.git_dir.join(lock);
        fs::write(&lock, "").unwrap();
        assert!(!moves(name, to), "held");
        assert!(lock.exists(), "the lock of another process stays");
        fs::remove_file(lock).unwrap();
    }
    for log in ["logs/HEAD", "logs/refs/heads/main"] {
        let (log, aside) = (
            repository.git_dir.join(log),
            repository.git_dir.join("aside"),
        );
        fs::rename(&log, &aside).unwrap();
        assert!(!moves(name, to), "no log");
        fs::rename(&aside, &log).unwrap();
    }
    assert_eq!(asked(&repository)[name], from);
    assert_eq!(locks(&repository), Vec::<String>::new());
    assert!(moves(name, to));
}

fn is_made(name: &str, at: ObjectId, repository: &Repository) -> bool {
    is_done(update(RefChange::Make { name, at }), repository)
}

#[test]
fn a_branch_is_made_and_head_switched_as_git_does_it() {
    let project = Project::new();
    for directory in [project.top(), project.linked()] {
        let repository = repository(&directory);
        let git = repository.git(Duration::from_secs(60));
        let refs = asked(&repository);
        let from = Repository::ask_head(&git, &refs).unwrap();
        let at = from.commit().unwrap();
        let name = "refs/heads/new/one";
        let head_log = repository.git_dir.join("logs/HEAD");
        let logs = [repository.common_dir.join("logs").join(name), head_log];
        // One of the two finds files that are ready, the other none.
        let ready = ["branch", "head"].map(|file| repository.git_dir.join(format!("{file}.ready")));
        if directory == project.linked() {
            fs::write(&ready[0], format!("{at}\n")).unwrap();
            fs::write(&ready[1], format!("ref: {name}\n")).unwrap();
        }
        let branch = RefUpdate {
            ready: Some(&ready[0]),
            ..update(RefChange::Make { name, at })
        };
        assert!(is_done(branch, &repository));
        let from_here = RefChange::Head {
            from: &from,
            to: name,
            at,
        };
        let it = RefUpdate {
            ready: Some(&ready[1]),
            ..update(from_here)
        };
        assert!(is_done(it, &repository));
        assert!(!ready.iter().any(|file| file.exists()));
        assert_eq!(asked(&repository)[name], at);
        assert_eq!(git.line(["symbolic-ref", "HEAD"]).unwrap(), name);
        assert_eq!(locks(&repository), Vec::<String>::new());
        let ours = logs.each_ref().map(|log| last_line(log));
        let modes = ["HEAD", "index"].map(|file| mode(&repository.git_dir.join(file)));
        assert_eq!(modes[0], modes[1]);
        // It is not where it was thought to be, and the branch is there already.
        assert!(!is_done(it, &repository));
        assert!(!is_made(name, at, &repository));

        let Head::Branch { name: home, .. } = &from else {
            panic!("on a branch");
        };
        project.git(&directory, &["symbolic-ref", "HEAD", home]);
        project.git(&directory, &["update-ref", "-d", name]);
        let at = at.to_string();
        project.git(&directory, &["update-ref", "-m", "why", name, &at]);
        project.git(&directory, &["symbolic-ref", "-m", "why", "HEAD", name]);
        assert_eq!(ours, logs.each_ref().map(|log| last_line(log)));
        assert_eq!(mode(&repository.git_dir.join("HEAD")), modes[0]);
        project.git(&directory, &["symbolic-ref", "HEAD", home]);
        project.git(&directory, &["update-ref", "-d", name]);
    }
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode()
}

#[test]
fn a_new_branch_that_is_out_of_the_ordinary_is_left_to_git() {
    let project = Project::new();
    let repository = repository(&project.top());
    let before = asked(&repository);
    let at = before["refs/heads/main"];
    let shared = &repository.common_dir;
    let is_made = |name: &str, at| is_made(name, at, &repository);
    assert!(!is_made("refs/heads/packed/away", at), "packed");
    assert!(!is_made("refs/heads/packed/away/below", at), "below one");
    assert!(!is_made("refs/heads/packed", at), "above one");
    assert!(!is_made("refs/heads/main/below", at), "below a file");
    assert!(!is_made("refs/tags/new", at), "no branch");
    assert!(!is_made("refs/heads/a..b", at), "no name");
    let zero = repository.format.zero();
    assert!(!is_made("refs/heads/new", zero), "no object");
    fs::write(shared.join("refs/heads/new.lock"), "").unwrap();
    assert!(!is_made("refs/heads/new", at), "held");
    fs::remove_file(shared.join("refs/heads/new.lock")).unwrap();
    fs::write(shared.join("logs/refs/heads/new"), "").unwrap();
    assert!(!is_made("refs/heads/new", at), "a log of another");
    fs::remove_file(shared.join("logs/refs/heads/new")).unwrap();
    assert_eq!(asked(&repository), before);
    assert_eq!(locks(&repository), Vec::<String>::new());
    assert!(is_made("refs/heads/new", at));
}

#[test]
fn head_that_is_out_of_the_ordinary_is_left_to_git() {
    let project = Project::new();
    let repository = repository(&project.top());
    let at = asked(&repository)["refs/heads/main"];
    let moves =
        |from: &Head, to: &str, at| is_done(update(RefChange::Head { from, to, at }), &repository);
    let main = Head::Branch {
        name: "refs/heads/main".to_owned(),
        commit: Some(at),
    };
    let elsewhere = Head::Detached { commit: at };
    assert!(!moves(&elsewhere, "refs/heads/other", at), "not there");
    assert!(!moves(&main, "refs/heads/none", at), "no branch");
    let zero = repository.format.zero();
    assert!(!moves(&main, "refs/heads/other", zero), "not at that");
    let held = repository.git_dir.join("HEAD.lock");
    fs::write(&held, "").unwrap();
    assert!(!moves(&main, "refs/heads/other", at), "held");
    fs::remove_file(held).unwrap();
    let log = repository.git_dir.join("logs/HEAD");
    fs::rename(&log, repository.git_dir.join("aside")).unwrap();
    assert!(!moves(&main, "refs/heads/other", at), "no log");
    fs::rename(repository.git_dir.join("aside"), &log).unwrap();
    let said = fs::read_to_string(repository.git_dir.join("HEAD")).unwrap();
    assert_eq!(said, "ref: refs/heads/main\n");
    assert!(moves(&main, "refs/heads/other", at));
}

fn locks(repository: &Repository) -> Vec<String> {
    let folders = ["", "refs/heads"].map(|folder| repository.common_dir.join(folder));
    let own = [repository.git_dir.clone()];
    let names = folders
        .iter()
        .chain(&own)
        .flat_map(|it| fs::read_dir(it).unwrap());
    names
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| super::is_lock(name))
        .collect()
}
