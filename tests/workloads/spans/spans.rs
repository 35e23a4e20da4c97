// SPDX-License-Identifier: MIT
//! Tells its phases in a marker file, if PROF_MARKERS names a folder for it; prints the file's path.
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::io::AsRawFd;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    fn mmap(at: *mut u8, size: usize, access: i32, flags: i32, fd: i32, offset: i64) -> *mut u8;
}

const CLOCK_MONOTONIC: i32 = 1;
const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
const PROT_READ_EXEC: i32 = 5;
const MAP_PRIVATE: i32 = 2;
const MS: u64 = 1_000_000;

fn time_of(clock: i32) -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(clock, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

fn now() -> u64 {
    time_of(CLOCK_MONOTONIC)
}

/// None: nobody listens.
struct Markers(Option<File>);

impl Markers {
    fn open() -> Markers {
        Markers(std::env::var_os("PROF_MARKERS").and_then(|folder| Markers::create(folder).ok()))
    }

    /// The mapping, of a file that may be read, tells a recorder that it is there.
    fn create(folder: OsString) -> std::io::Result<File> {
        let path = format!("{}/marker-{}.txt", folder.to_string_lossy(), std::process::id());
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path)?;
        unsafe { mmap(std::ptr::null_mut(), 1, PROT_READ_EXEC, MAP_PRIVATE, file.as_raw_fd(), 0) };
        println!("{path}");
        Ok(file)
    }

    fn span<T>(&mut self, name: &str, body: impl FnOnce(&mut Markers) -> T) -> T {
        let begin = if self.0.is_some() { now() } else { 0 };
        let value = body(self);
        if let Some(file) = &mut self.0 {
            file.write_all(format!("{begin} {} {name}\n", now()).as_bytes()).ok();
        }
        value
    }

    fn instant(&mut self, name: &str) {
        if let Some(file) = &mut self.0 {
            file.write_all(format!("i {} {name}\n", now()).as_bytes()).ok();
        }
    }
}

/// Takes that much CPU time, however busy the machine is.
fn work(ns: u64) {
    let end = time_of(CLOCK_THREAD_CPUTIME_ID) + ns;
    while time_of(CLOCK_THREAD_CPUTIME_ID) < end {}
}

fn main() {
    let mut markers = Markers::open();
    for i in 0..5 {
        markers.span("request", |m| {
            work(10 * MS);
            m.span("parse input", |_| work(20 * MS));
            m.instant(&format!("half way #phases step={i}"));
            work(10 * MS);
        });
        work(10 * MS);
    }
}
