//! Numbers in a program.

use num_bigint::BigInt;

use super::{
    Token,
    scan::{Payload, Scanner},
};
use crate::lang::{Fallible, Int};

impl<'a> Scanner<'a> {
    pub(super) fn number(&mut self, from: &'a [u8], c: char) -> Fallible<(Token, Payload)> {
        let start = self.start;
        let (mut has_fraction, mut has_exponent) = (false, false);
        self.read();
        match (c, self.peek()) {
            ('.', next) if !next.is_ascii_digit() => return Ok((Token::Dot, Payload::Nothing)),
            ('.', _) => has_fraction = true,
            ('0', 'x' | 'X') => {
                self.read();
                if !self.peek().is_ascii_hexdigit() {
                    return self.fail(start, "invalid hex literal");
                }
                self.read_while(|c| c.is_ascii_hexdigit());
                return self.whole(from, 16);
            }
            ('0', 'o' | 'O') => {
                self.read();
                if !self.peek().is_digit(8) {
                    return self.fail(self.position, "invalid octal literal");
                }
                self.read_while(|c| c.is_digit(8));
                return self.whole(from, 8);
            }
            ('0', 'b' | 'B') => {
                self.read();
                if !self.peek().is_digit(2) {
                    return self.fail(self.position, "invalid binary literal");
                }
                self.read_while(|c| c.is_digit(2));
                return self.whole(from, 2);
            }
            _ => {
                self.read_while(|c| c.is_ascii_digit());
                let digits = &from[..from.len() - self.rest.len()];
                match self.peek() {
                    '.' => {
                        has_fraction = true;
                        self.read();
                    }
                    'e' | 'E' => has_exponent = true,
                    _ if c == '0' && digits.iter().any(|digit| *digit != b'0') => {
                        let text = String::from_utf8_lossy(&digits[1..]);
                        if digits.iter().all(|digit| *digit < b'8') {
                            let words = format!("obsolete form of octal literal; use 0o{text}");
                            return self.fail(self.position, words);
                        }
                        return self.fail(start, "invalid int literal");
                    }
                    _ => {}
                }
            }
        }
        if has_fraction {
            self.read_while(|c| c.is_ascii_digit());
            has_exponent = matches!(self.peek(), 'e' | 'E');
        }
        if has_exponent {
            self.read();
            if matches!(self.peek(), '+' | '-') {
                self.read();
                if !self.peek().is_ascii_digit() {
                    return self.fail(self.position, "invalid float literal");
                }
            }
            self.read_while(|c| c.is_ascii_digit());
        }
        if !has_fraction && !has_exponent {
            return self.whole(from, 10);
        }
        let text = String::from_utf8_lossy(&from[..from.len() - self.rest.len()]);
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok((Token::Float, Payload::Float(number))),
            _ => self.fail(self.position, "invalid float literal"),
        }
    }

    fn whole(&mut self, from: &'a [u8], base: u32) -> Fallible<(Token, Payload)> {
        let skipped = if base == 10 { 0 } else { 2 };
        let digits = &from[skipped..from.len() - self.rest.len()];
        match BigInt::parse_bytes(digits, base) {
            Some(number) if !matches!(base, 2 | 8) || number.bits() < 64 => {
                Ok((Token::Int, Payload::Int(Int::from(number))))
            }
            _ => self.fail(self.start, "invalid int literal"),
        }
    }
}
