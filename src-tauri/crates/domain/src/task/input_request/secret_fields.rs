//! Which fields of a form ask for a secret, by what they are called and what their schema says.
//!
//! A guess: what it finds has no draft, is typed unseen and is erased once it arrived (ruling 9). It reads no values.

use serde_json::Value;

/// What names secrets in field names, titles and descriptions, written together and in lower case. The words for a
/// password are those by which Firefox finds password fields (`passwordStringRegex` of its `NewPasswordModel.sys.mjs`),
/// also without accents, and those of a few more languages. These and the English words: judgement.
const PARTS: [&str; 54] = [
    // English.
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "privatekey",
    "accesskey",
    "credential",
    "securitycode",
    // German, Dutch, Danish, Swedish, Norwegian.
    "passwort",
    "kennwort",
    "wachtwoord",
    "kodeord",
    "adgangskode",
    "lösenord",
    "losenord",
    "passord",
    // French, Spanish, Portuguese of Portugal, Catalan.
    "motdepasse",
    "contraseña",
    "contrasena",
    "contrasenya",
    "palavrapasse",
    // Croatian, Serbian, Russian, Ukrainian, Bulgarian.
    "lozinka",
    "лозинка",
    "парол",
    // Finnish, Hungarian, Lithuanian, Greek.
    "salasana",
    "jelszó",
    "jelszo",
    "slaptažod",
    "κωδικόςπρόσβασης",
    "συνθηματικό",
    // Turkish, Arabic, Persian, Hebrew, Hindi.
    "şifre",
    "كلمةالسر",
    "كلمةالمرور",
    "رمزعبور",
    "گذرواژه",
    "סיסמה",
    "סיסמא",
    "पासवर्ड",
    // Indonesian, Vietnamese, Thai.
    "katasandi",
    "mậtkhẩu",
    "matkhau",
    "รหัสผ่าน",
    // Chinese, Japanese, Korean; the last two are keys.
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "暗証番号",
    "비밀번호",
    "암호",
    "密钥",
    "密鑰",
];

/// Names of secrets that are parts of harmless words, as `senha` of the Portuguese word for drawing; judgement.
const WORDS: [&str; 17] = [
    "pin", "pincode", "otp", "cvv", "cvc", "pwd", "senha", "senhas", "heslo", "hesla", "geslo", "hasło", "haslo",
    "parola", "parolă", "parool", "sifre",
];

/// Whether a name, a title or a description speaks of a secret.
#[must_use]
pub fn looks_secret(text: &str) -> bool {
    let text = text.to_lowercase();
    let together: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
    // Signs above and below letters are no letters of their own: some words are found as they are written.
    PARTS.iter().any(|part| together.contains(part) || text.contains(part))
        || text.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// Names of form fields that look like secrets; servers must not ask for those by form (protocol.md §6.2).
#[must_use]
pub fn secret_looking_fields(schema: &Value) -> Vec<String> {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    fields
        .iter()
        .filter(|(name, field)| {
            let said = |key: &str| field.get(key).and_then(Value::as_str).is_some_and(looks_secret);
            looks_secret(name) || said("title") || said("description") || is_marked_secret(field)
        })
        .map(|(name, _)| name.clone())
        .collect()
}

/// Whether the schema itself says that nobody shall read the value.
fn is_marked_secret(field: &Value) -> bool {
    let is_password = field.get("format").and_then(Value::as_str) == Some("password");
    is_password || field.get("writeOnly").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_look_like_secrets_are_found_however_they_are_written() {
        let fields = json!({"properties": {
            "API-Key": {}, "accessKey": {}, "a": {"title": "Your PIN"}, "b": {"description": "the one-time OTP"},
            "user_password": {}, "spinning": {}, "key": {}, "c": {"title": "Map in code"}, "colour": {"title": 7},
            "w": {"writeOnly": true}, "x": {"format": "password"}, "y": {"format": "email", "writeOnly": false},
        }});
        assert_eq!(secret_looking_fields(&fields), ["API-Key", "accessKey", "a", "b", "user_password", "w", "x"]);
    }

    #[test]
    fn a_password_is_one_in_the_language_of_whoever_asks() {
        for asks in [
            "Passwort",
            "Neues Kennwort",
            "mot_de_passe",
            "Votre mot de passe",
            "Contraseña",
            "contrasen\u{303}a",
            "Sua senha",
            "Пароль",
            "Введите пароля",
            "密码",
            "輸入密碼",
            "パスワード",
            "비밀번호 확인",
            "ŞİFRE",
            "Wachtwoord",
            "Heslo",
            "hasło",
            "รหัสผ่าน",
            "رمز عبور",
            "كلمة السر",
            "Mật khẩu",
            "Lo\u{308}senord",
            "Κωδικός πρόσβασης",
            "पासवर्ड",
        ] {
            assert!(looks_secret(asks), "`{asks}` asks for a secret");
        }
        for harmless in
            ["desenhar", "Parole officer", "Haslop Street", "код города", "passage", "Schlüsselwort", "密度"]
        {
            assert!(!looks_secret(harmless), "`{harmless}` does not");
        }
    }
}
