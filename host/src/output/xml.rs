//! Text in files of XML.

/// A text as the value of an attribute.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_xml_are_escaped() {
        assert_eq!(escaped("a<b> & \"c\" 'd' é"), "a&lt;b&gt; &amp; &quot;c&quot; 'd' é");
        assert_eq!(escaped("&lt;"), "&amp;lt;");
    }
}
