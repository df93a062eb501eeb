import Foundation
import Tally
import TallyCRDT
import TallyStore

@testable import TallyCLI

extension FuzzTarget {
  static let tool = [json, words, values, shell]

  private static let json = FuzzTarget(
    "json",
    seeds: [Array(StoreSamples.schemaJSON.utf8), Array(#"[-1.5e3,"\u00e9\ud83e\uddee",null,true,{}]"#.utf8)]
  ) { bytes in
    guard let json = try accepted(Failure.self, { try JSONParser.parse(bytes) }) else { return }
    try claim(try JSONParser.parse(Array(json.text.utf8)) == json, "JSON reads back as it was")
    _ = try accepted(Failure.self) { try SchemaKeys.check(bytes) }
  }

  /// Lines of words, and addresses of peers.
  private static let words = FuzzTarget(
    "words", maximumLength: 300,
    seeds: [Array(#"put 'SBGame|~|go' name="a \"b\"" c\ d"#.utf8), Array("[::1]:7400".utf8), Array("home:1".utf8)]
  ) { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    if let words = try accepted(Failure.self, { try ShellWords.split(text) }) {
      try claim(
        try ShellWords.split(words.map(quoted).joined(separator: " ")) == words, "words in quotes are the same words")
    }
    _ = try accepted(Failure.self) { try PeerAddress.tcp(text) }
    _ = try accepted(Failure.self) { try PeerAddress(text) }
    try claim(!shown(text).unicodeScalars.contains { $0.value < 32 }, "what is shown does not steer a terminal")
  }

  /// What has a meaning in a line is bytes: a mark that combines with a quote does not hide it.
  private static func quoted(_ word: String) -> String {
    let quote = UInt8(ascii: "'")
    return String(
      decoding: [quote] + word.utf8.flatMap { $0 == quote ? Array(#"'\''"#.utf8) : [$0] } + [quote], as: UTF8.self)
  }

  /// A value of a field, as text and as JSON. The first byte chooses the kind.
  private static let values = FuzzTarget(
    "values", maximumLength: 200,
    seeds: [
      "a", "-9", "1e300", "true", "2026-02-28T09:30:00.5+01:00", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "{\"a\":1}",
      "base64:AP8=", "SBGame|~|go",
    ].enumerated().map { [UInt8($0.offset)] + Array($0.element.utf8) }
  ) { bytes in
    guard let first = bytes.first else { return }
    let kinds = FieldKind.allCases
    let place = Int(first) % (kinds.count + 1)
    let type: FieldType = place < kinds.count ? .field(kinds[place]) : .reference(to: "SBGame")
    let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
    for value in [try refused { try type.value(text: text) }, try refused { try json(text, type) }].compactMap({ $0 }) {
      let again = try type.value(json: type.json(value))
      try claim(try plain(again, type) == plain(value, type), "a value reads back from JSON: \(value)")
      guard let shown = type.text(value), !shown.isEmpty || value == .text("") else { continue }
      try claim(try type.value(text: shown) == value, "a value reads back from its text: \(value)")
    }
  }

  /// JSON in a field may come back with other spaces and another order of keys.
  private static func plain(_ value: Value, _ type: FieldType) throws -> Value {
    guard case .text(let text) = value, case .field(.json) = type else { return value }
    return .text(try JSONParser.parse(Array(text.utf8)).text)
  }

  private static func json(_ text: String, _ type: FieldType) throws -> Value {
    try type.value(json: JSONParser.parse(Array(text.utf8)))
  }

  private static func refused(_ body: () throws -> Value) throws -> Value? {
    do {
      return try body()
    } catch is Failure {
      return nil
    } catch is StoreError {
      return nil
    }
  }

  /// Lines for `tally shell`, on two stores in memory.
  private static let shell = FuzzTarget(
    "shell", maximumLength: 600,
    seeds: [
      "put a 'SBGame|~|go' title=Go\nsync a b\nverify b\n",
      "link a 'SBGame|~|go' then 'SBGame|~|go'\nwhy a 'SBGame|~|go'\ndump a",
      "delete a 'SBGame|~|go'\nrestore a 'SBGame|~|go'\nconflicts a\ndelta a b\nvector a",
      "renew b\nput b '{\"name\":\"SBGame|~|x\"}'\nstatus b\nclock b 5\nseeds b\nclose b",
    ].map { Array($0.utf8) }
  ) { bytes in
    let session = ShellSession(ShellSettings(schema: StoreSamples.schema, seed: 1))
    func answer(_ bytes: [UInt8]) -> String { session.answer(to: LineReader.Line(number: 1, bytes: bytes)) }
    for line in ["new a", "new b", "put a 'SBGame|~|go' title=1"] { _ = answer(Array(line.utf8)) }
    for line in bytes.split(separator: 0x0A).prefix(8) {
      // What makes files may not run loose here.
      let words = (try? ShellWords.split(String(decoding: line, as: UTF8.self))) ?? []
      guard !["open", "new", "copy"].contains(words.first) else { continue }
      let answer = answer(Array(line))
      try claim(answer.hasPrefix("{\"ok\":") || answer.hasPrefix("{\"error\":"), "a line is answered")
      try claim((try? JSONParser.parse(Array(answer.utf8))) != nil, "an answer is JSON")
      try claim(!answer.hasSuffix("\"status\":70}}"), "no fault of the tool: \(answer)")
    }
    for store in ["a", "b"] {
      let report = answer(Array("verify \(store)".utf8))
      let isGone = report.contains("there is no store")
      try claim(isGone || report.hasSuffix("\"problems\":[]}}"), "a store verifies: \(report)")
    }
    try session.reset()
  }
}
