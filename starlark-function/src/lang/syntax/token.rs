//! The words of the language.

use std::fmt;

use crate::lang::dialect::Edition;

macro_rules! tokens {
    ($($name:ident = $text:literal),* $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::lang) enum Token { $($name),* }

        impl Token {
            pub(in crate::lang) fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

tokens! {
    Illegal = "illegal token", End = "end of file", Newline = "newline", Indent = "indent",
    Outdent = "outdent", Ident = "identifier", Int = "int literal", Float = "float literal",
    Text = "string literal", Bytes = "",
    Plus = "+", Minus = "-", Star = "*", Slash = "/", SlashSlash = "//", Percent = "%",
    Amp = "&", Pipe = "|", Circumflex = "^", LtLt = "<<", GtGt = ">>", Tilde = "~", Dot = ".",
    Comma = ",", Eq = "=", Semi = ";", Colon = ":", LParen = "(", RParen = ")", LBrack = "[",
    RBrack = "]", LBrace = "{", RBrace = "}", Lt = "<", Gt = ">", Ge = ">=", Le = "<=",
    EqEq = "==", NotEq = "!=", PlusEq = "+=", MinusEq = "-=", StarEq = "*=", SlashEq = "/=",
    SlashSlashEq = "//=", PercentEq = "%=", AmpEq = "&=", PipeEq = "|=", CircumflexEq = "^=",
    LtLtEq = "<<=", GtGtEq = ">>=", StarStar = "**",
    And = "and", Break = "break", Continue = "continue", Def = "def", Elif = "elif",
    Else = "else", For = "for", If = "if", In = "in", Lambda = "lambda", Load = "load",
    Not = "not", NotIn = "not in", Or = "or", Pass = "pass", Return = "return", While = "while",
    As = "as", Async = "async", Await = "await", Class = "class", Del = "del", Except = "except",
    Finally = "finally", From = "from", Global = "global", Import = "import", Is = "is",
    Nonlocal = "nonlocal", Raise = "raise", Try = "try", With = "with", Yield = "yield",
}

/// A token as errors name it: signs in quotes.
#[derive(Debug)]
pub(super) struct Named(pub(super) Token);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.text();
        let is_sign = (Token::Plus as u8..=Token::GtGtEq as u8).contains(&(self.0 as u8));
        if is_sign {
            write!(f, "'{text}'")
        } else {
            f.write_str(text)
        }
    }
}

impl Token {
    /// The keyword that a word is, if it is one. Words that are reserved have names of
    /// their own only in newer editions.
    pub(super) fn keyword(word: &str, edition: Edition) -> Option<Self> {
        const RESERVED: [Token; 16] = [
            Token::As,
            Token::Async,
            Token::Await,
            Token::Class,
            Token::Del,
            Token::Except,
            Token::Finally,
            Token::From,
            Token::Global,
            Token::Import,
            Token::Is,
            Token::Nonlocal,
            Token::Raise,
            Token::Try,
            Token::With,
            Token::Yield,
        ];
        if let Some(reserved) = RESERVED.iter().find(|token| token.text() == word) {
            return Some(if edition >= Edition::March2026 {
                *reserved
            } else {
                Self::Illegal
            });
        }
        Some(match word {
            "and" => Self::And,
            "break" => Self::Break,
            "continue" => Self::Continue,
            "def" => Self::Def,
            "elif" => Self::Elif,
            "else" => Self::Else,
            "for" => Self::For,
            "if" => Self::If,
            "in" => Self::In,
            "lambda" => Self::Lambda,
            "load" => Self::Load,
            "not" => Self::Not,
            "or" => Self::Or,
            "pass" => Self::Pass,
            "return" => Self::Return,
            "while" => Self::While,
            _ => return None,
        })
    }

    /// How tightly a binary operator binds.
    pub(super) fn precedence(self) -> Option<usize> {
        Some(match self {
            Self::Or => 0,
            Self::And => 1,
            Self::Not => 2,
            Self::EqEq
            | Self::NotEq
            | Self::Lt
            | Self::Gt
            | Self::Le
            | Self::Ge
            | Self::In
            | Self::NotIn => 3,
            Self::Pipe => 4,
            Self::Circumflex => 5,
            Self::Amp => 6,
            Self::LtLt | Self::GtGt => 7,
            Self::Minus | Self::Plus => 8,
            Self::Star | Self::Percent | Self::Slash | Self::SlashSlash => 9,
            _ => return None,
        })
    }
}
