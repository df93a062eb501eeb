#if Macros
  import GRDB

  /// The parts of a row that its record cannot show: enum cases that only a newer version of the app has, and keys of
  /// JSON that this version does not know.
  ///
  /// Saving the record writes them back: an older version of an app must not overwrite what it cannot read. They affect
  /// neither the equality of records nor what `Codable` writes.
  public struct UnreadValues: Sendable {
    private enum Kept: Sendable {
      /// A value that cannot be read, and the one that the record shows instead.
      case unread(stored: DatabaseValue, shown: DatabaseValue)
      /// The text of a value that was read, which may hold more.
      case json(Text)
    }

    /// JSON that follows the value of a property.
    private struct Text {
      /// The text to write for the value.
      var stored: DatabaseValue
      /// The value as the record itself would write it; nil before the property is set for the first time.
      var shown: DatabaseValue?
      /// The bytes that following may still go through. A loop that changes thousands of elements one by one would
      /// read the whole text each time; what comes after the first of them is followed all at once, when the record is
      /// saved.
      var budget: Int
    }

    /// Nil in nearly all records.
    private var values: [String: Kept]?

    /// Creates the value of a record that was not read from a row: it contains nothing.
    public init() {}

    mutating func keep(_ stored: DatabaseValue, shown: DatabaseValue, for column: String) {
      values = values ?? [:]
      values?[column] = .unread(stored: stored, shown: shown)
    }

    mutating func keep(json stored: DatabaseValue, for column: String) {
      values = values ?? [:]
      values?[column] = .json(Text(stored: stored, shown: nil, budget: Self.budget(stored)))
    }

    /// Four megabytes, or the text 64 times.
    private static func budget(_ stored: DatabaseValue) -> Int { max(4 << 20, 64 * (stored.text?.utf8.count ?? 0)) }

    func has(_ column: String) -> Bool { values?[column] != nil }

    /// Notes that a property was set. `encoded` gives a text as the record would write it, nil if it cannot.
    mutating func noteSetting(
      _ column: String, shown: () throws -> DatabaseValue, _ encoded: (DatabaseValue) throws -> DatabaseValue?
    ) {
      switch values?[column] {
      case .unread(_, let before):
        // What cannot be encoded is another value, and saving it throws.
        if (try? shown()) != before { values?[column] = nil }
      case .json(var text):
        guard text.budget > 0, let now = try? shown() else { return }
        text.budget -= now.text?.utf8.count ?? 0
        let before = text.shown ?? (try? encoded(text.stored))
        if before != now {
          // Where there is nothing more than the record shows, there is nothing to follow from now on.
          guard let before, let stored = text.stored.changed(from: before, to: now), stored != now else {
            values?[column] = nil
            return
          }
          text.stored = stored
        }
        text.shown = now
        values?[column] = .json(text)
      case nil: break
      }
    }

    /// Returns what to write for a property that shows `shown`. `encoded` gives a text that was read as the record
    /// would have written it.
    func stored(
      for column: String, shown: DatabaseValue, _ encoded: (DatabaseValue) throws -> DatabaseValue?
    ) rethrows -> DatabaseValue {
      switch values?[column] {
      case .unread(let stored, let before) where before == shown: return stored
      case .json(let text):
        guard let before = try text.shown ?? encoded(text.stored) else { return shown }
        return before == shown ? text.stored : text.stored.changed(from: before, to: shown) ?? shown
      case .unread, nil: return shown
      }
    }
  }

  extension DatabaseValue {
    fileprivate var text: String? { String.fromDatabaseValue(self) }

    /// The text with the change from one value to another; nil if one of them is no JSON.
    fileprivate func changed(from before: DatabaseValue, to after: DatabaseValue) -> DatabaseValue? {
      guard let text, let before = before.text, let after = after.text else { return nil }
      return JSONText.change(text, from: before, to: after)?.databaseValue
    }
  }

  extension UnreadValues: CustomReflectable, CustomStringConvertible {
    /// An empty mirror: the kept values may be private, and `print` and `dump` of a record go to logs.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
    /// The type's name, without the kept values.
    public var description: String { "UnreadValues" }
  }

  extension UnreadValues: Hashable {
    /// Returns true in every case: records that show the same are equal.
    public static func == (lhs: UnreadValues, rhs: UnreadValues) -> Bool { true }
    /// Adds nothing to the hash, because equality does not compare these values.
    public func hash(into hasher: inout Hasher) {}
  }

  extension UnreadValues: Codable {
    /// Reads nothing: values that could not be read are not part of a record's `Codable` form.
    public init(from decoder: any Decoder) throws { self.init() }
    /// Writes nothing, because decoding reads nothing.
    public func encode(to encoder: any Encoder) throws {}
  }

  extension KeyedDecodingContainer {
    /// Returns an empty value: a record that is also `Codable` needs no key for what it could not read.
    public func decode(_ type: UnreadValues.Type, forKey key: Key) throws -> UnreadValues { UnreadValues() }
  }

  extension KeyedEncodingContainer {
    /// Writes nothing, not even a key.
    public mutating func encode(_ value: UnreadValues, forKey key: Key) throws {}
  }
#endif
