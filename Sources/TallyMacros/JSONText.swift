#if Macros
  import Foundation

  /// A JSON text, taken apart as far as objects and arrays go; what stands in them stays as it is written.
  ///
  /// A library's parser would make numbers of numbers, and digits beyond those of a `Double` are then gone. Only texts
  /// that a decoder has read come here, so nothing is checked that it has checked.
  indirect enum JSONText: Equatable {
    case object([[UInt8]: Member])
    case array([JSONText])
    /// A string, a number, `true`, `false` or `null`.
    case atom([UInt8])

    /// A member of an object, under its key without escapes.
    struct Member {
      /// The key as it is written.
      var key: [UInt8]
      var value: JSONText
    }

    /// Makes the change from one value to another in a text that holds more than the values' type knows. Keys of
    /// objects that the type does not know stay.
    ///
    /// An element of an array is known again by its value, or by its `id`; any other that was changed, by its place
    /// between those that are known again. Two objects with an `id` each, and not the same, are two.
    /// - Parameters:
    ///   - text: the text in the database.
    ///   - before: the value that was read from it, as its type writes it.
    ///   - after: the value that is to be written.
    /// - Returns: `after`, letter by letter, if `text` holds nothing that the type does not know; nil if one of them is
    ///   no JSON.
    static func change(_ text: String, from before: String, to after: String) -> String? {
      guard let whole = JSONText(text), let before = JSONText(before), let new = JSONText(after) else { return nil }
      let merged = whole.changed(from: before, to: new)
      return merged == new ? after : merged.description
    }

    private static let id = Array("id".utf8)

    private func changed(from before: JSONText, to after: JSONText) -> JSONText {
      guard after != before else { return self }
      switch (self, before, after) {
      case (.object(let whole), .object(let known), .object(let new)):
        if let before = known[Self.id], let now = new[Self.id], before != now { return after }
        var merged = new
        for (key, member) in whole {
          if let now = new[key] {
            if let then = known[key] { merged[key]?.value = member.value.changed(from: then.value, to: now.value) }
          } else if known[key] == nil {
            merged[key] = member
          }
        }
        return .object(merged)
      case (.array(let whole), .array(let known), .array(let new)) where whole.count == known.count:
        return .array(Self.changed(whole, from: known, to: new))
      default: return after
      }
    }

    private static func changed(_ whole: [JSONText], from known: [JSONText], to new: [JSONText]) -> [JSONText] {
      var matches = ElementMatches(known, new)
      matches.matchEqual { $0.description }
      matches.matchEqual { element in
        if case .object(let members) = element { members[id]?.value.description } else { nil }
      }
      matches.matchBetween()
      if known.count == new.count { matches.matchInPlace() }
      return zip(new, matches.places).map { value, place in
        place.map { whole[$0].changed(from: known[$0], to: value) } ?? value
      }
    }
  }

  /// Which element of an array was which, before it was changed.
  private struct ElementMatches {
    private let known: [JSONText]
    private let new: [JSONText]
    /// For each new element the place where it was; nil for one that was not there.
    private(set) var places: [Int?]
    private var isFree: [Bool]

    init(_ known: [JSONText], _ new: [JSONText]) {
      (self.known, self.new) = (known, new)
      (places, isFree) = (new.map { _ in nil }, known.map { _ in true })
    }

    private mutating func match(_ index: Int, with place: Int) {
      places[index] = place
      isFree[place] = false
    }

    /// Matches elements with one key, of several the first with the first.
    mutating func matchEqual(by key: (JSONText) -> String?) {
      var byKey: [String: [Int]] = [:]
      for place in known.indices.reversed() where isFree[place] {
        if let key = key(known[place]) { byKey[key, default: []].append(place) }
      }
      for index in new.indices where places[index] == nil {
        if let key = key(new[index]), let place = byKey[key]?.popLast() { match(index, with: place) }
      }
    }

    /// Matches what stands between two matched neighbors, in its order, if it is as many as stood there. At the end
    /// there may be more: they were appended.
    mutating func matchBetween() {
      var (start, first) = (0, 0)
      for index in 0...new.count {
        let isEnd = index == new.count
        guard let end = isEnd ? known.count : places[index] else { continue }
        let free = first < end ? (first..<end).filter { isFree[$0] } : []
        if free.count == index - start || isEnd && free.count < index - start {
          for (index, place) in zip(start..<index, free) { match(index, with: place) }
        }
        (start, first) = (index + 1, end + 1)
      }
    }

    /// Matches what is left with what stood in the same place.
    mutating func matchInPlace() {
      for index in new.indices where places[index] == nil && isFree[index] { match(index, with: index) }
    }
  }

  extension JSONText: CustomStringConvertible {
    private static func sorted(_ members: [[UInt8]: Member]) -> [Member] {
      members.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
    }

    /// The text, without blanks, keys in order.
    var description: String {
      switch self {
      case .atom(let bytes): String(decoding: bytes, as: UTF8.self)
      case .array(let values): "[\(values.map(\.description).joined(separator: ","))]"
      case .object(let members):
        "{\(Self.sorted(members).map(\.description).joined(separator: ","))}"
      }
    }
  }

  extension JSONText.Member: CustomStringConvertible, Equatable {
    var description: String { "\(String(decoding: key, as: UTF8.self)):\(value)" }
    static func == (lhs: Self, rhs: Self) -> Bool { lhs.value == rhs.value }
  }

  // MARK: - Reading

  extension JSONText {
    /// Reads a text; nil if it is no JSON.
    init?(_ text: String) {
      var reader = Reader(rest: Array(text.utf8)[...])
      guard let value = reader.value(), reader.next == nil else { return nil }
      self = value
    }

    private struct Reader {
      var rest: ArraySlice<UInt8>

      /// The next byte that is no blank.
      var next: UInt8? {
        mutating get {
          rest = rest.drop(while: Self.isBlank)
          return rest.first
        }
      }

      private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

      private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: scalar) else { return false }
        rest.removeFirst()
        return true
      }

      mutating func value() -> JSONText? {
        switch next {
        case nil: return nil
        case UInt8(ascii: "{"): return object()
        case UInt8(ascii: "["): return array()
        case UInt8(ascii: "\""): return string().map(JSONText.atom)
        default:
          let atom = rest.prefix { !Self.isBlank($0) && !",]}".utf8.contains($0) }
          rest = rest[atom.endIndex...]
          return atom.isEmpty ? nil : .atom(Array(atom))
        }
      }

      /// The string with its quotes and escapes.
      private mutating func string() -> [UInt8]? {
        var isEscaped = false
        for index in rest.indices.dropFirst() {
          if isEscaped {
            isEscaped = false
          } else if rest[index] == UInt8(ascii: "\\") {
            isEscaped = true
          } else if rest[index] == UInt8(ascii: "\"") {
            defer { rest = rest[(index + 1)...] }
            return Array(rest[...index])
          }
        }
        return nil
      }

      private mutating func array() -> JSONText? {
        guard take("[") else { return nil }
        var values: [JSONText] = []
        guard !take("]") else { return .array(values) }
        repeat {
          guard let value = value() else { return nil }
          values.append(value)
        } while take(",")
        return take("]") ? .array(values) : nil
      }

      private mutating func object() -> JSONText? {
        guard take("{") else { return nil }
        var members: [[UInt8]: Member] = [:]
        guard !take("}") else { return .object(members) }
        repeat {
          guard next == UInt8(ascii: "\""), let key = string(), let plain = Self.plain(key), take(":"),
            let value = value()
          else { return nil }
          members[plain] = Member(key: key, value: value)
        } while take(",")
        return take("}") ? .object(members) : nil
      }

      /// A key without escapes: two programs may write one key in two ways.
      private static func plain(_ key: [UInt8]) -> [UInt8]? {
        guard key.contains(UInt8(ascii: "\\")) else { return Array(key.dropFirst().dropLast()) }
        // What is no string is no JSON.
        return (try? JSONDecoder().decode(String.self, from: Data(key))).map { Array($0.utf8) }
      }
    }
  }
#endif
