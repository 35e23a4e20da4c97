// SPDX-License-Identifier: MIT
// A TCP service with four threads, whose count_words() holds the lock on all words.
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Words = Arc<Mutex<HashMap<String, usize>>>;

#[inline(never)]
fn count_words(text: &str, words: &Words) -> usize {
    let mut map = words.lock().unwrap();
    for _ in 0..50 {
        for word in text.split(' ') {
            *map.entry(word.to_string()).or_insert(0) += 1;
        }
    }
    map.len()
}

#[inline(never)]
fn serve(stream: TcpStream, words: Words) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 0 {
        let answer = format!("{}\n", count_words(line.trim(), &words));
        writer.write_all(answer.as_bytes()).unwrap();
        line.clear();
    }
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let words: Words = Arc::new(Mutex::new(HashMap::new()));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let words = words.clone();
            std::thread::spawn(move || serve(stream.unwrap(), words));
        }
    });
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let clients: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                let text = (0..100).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ") + "\n";
                while Instant::now() < end {
                    stream.write_all(text.as_bytes()).unwrap();
                    line.clear();
                    reader.read_line(&mut line).unwrap();
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
}
