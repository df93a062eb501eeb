import TallyCRDT
import Testing

@Suite struct RecordNameTests {
  private func error(_ text: String) -> RecordNameError? {
    do throws(RecordNameError) {
      _ = try AnyRecordName(text)
      return nil
    } catch {
      return error
    }
  }

  @Test func nameIsTypeAndKey() throws {
    let name = try AnyRecordName("SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db")
    #expect(name.type == "SBGame")
    #expect(name.key == "386c1919-5f25-4be2-975f-5b34506c51db")
    #expect(Array(name.keyBytes) == Array(name.key.utf8))
    #expect(name.description == name.text)
    #expect(try AnyRecordName(type: name.type, key: name.key) == name)
  }

  @Test func keyMayHoldAnyPrintableASCII() {
    for key in ["|", "~", "|~", "a b", "\"; DROP TABLE t;--", "|~~|"] { #expect(error("A|~|" + key) == nil) }
  }

  @Test func longNamesAreRefused() {
    #expect(error("A|~|" + String(repeating: "k", count: 251)) == nil)
    #expect(error("A|~|" + String(repeating: "k", count: 252)) == .tooLong(256))
    #expect(error(String(repeating: "é", count: 200)) == .tooLong(400))
  }

  @Test func bytesOutsidePrintableASCIIAreRefusedWithTheirOffset() {
    #expect(error("A|~|\0") == .notPrintableASCII(offset: 4))
    #expect(error("A|~|a\nb") == .notPrintableASCII(offset: 5))
    #expect(error("\tA|~|a") == .notPrintableASCII(offset: 0))
    #expect(error("A|~|\u{7F}") == .notPrintableASCII(offset: 4))
    #expect(error("A|~|é") == .notPrintableASCII(offset: 4))
  }

  @Test func exactlyOneDelimiterIsRequired() {
    for text in ["", "A", "A|~", "A~|a", "A|~|b|~|c", "A|~|~|", "A|~||~|", "|~||~|", "A|~|b|~|"] {
      #expect(error(text) == .delimiter, "\(text)")
    }
  }

  @Test func emptyHalvesAreRefused() {
    for text in ["|~|", "|~|a", "A|~|"] { #expect(error(text) == .empty, "\(text)") }
  }

  @Test func typeIsAnIdentifier() {
    for type in ["A", "a", "Z9", "a_b", "SBGame"] { #expect(error(type + "|~|k") == nil) }
    for type in ["9", "_a", "a b", "a-b", "a.b", "A|", "x\" INTEGER); DROP TABLE t;--"] {
      #expect(error(type + "|~|k") == .type, "\(type)")
    }
    #expect(error("x\" INTEGER); DROP TABLE t;--") == .delimiter)
  }

  @Test func namesAreComparedByteByByte() throws {
    let small = try AnyRecordName("A|~|ab")
    let capital = try AnyRecordName("A|~|AB")
    #expect(small != capital && capital < small)
  }

  @Test func emptyIsNoIdentifier() {
    #expect(!AnyRecordName.isIdentifier([]))
  }
}
