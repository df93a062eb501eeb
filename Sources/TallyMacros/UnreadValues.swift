#if Macros
  import GRDB

  /// What a record's row holds beyond what the record shows: an enum's case that only a newer version of the app has,
  /// and the keys of JSON that this one does not know.
  ///
  /// Saving the record writes it back: an older version of an app must not overwrite what it cannot read. It plays no
  /// part in whether two records are equal, nor in what `Codable` writes.
  public struct UnreadValues: Sendable {
    private enum Kept: Sendable {
      /// A value that cannot be read, and the one that the record shows instead.
      case unread(stored: DatabaseValue, shown: DatabaseValue)
      /// A text that was read.
      case json(DatabaseValue)
    }

    /// Nil in nearly all records.
    private var values: [String: Kept]?

    /// The values of a record that was not read from a row: none.
    public init() {}

    mutating func keep(_ stored: DatabaseValue, shown: DatabaseValue, for column: String) {
      values = values ?? [:]
      values?[column] = .unread(stored: stored, shown: shown)
    }

    mutating func keep(json stored: DatabaseValue, for column: String) {
      values = values ?? [:]
      values?[column] = .json(stored)
    }

    func has(_ column: String) -> Bool { values?[column] != nil }

    /// `shown` is the value that the property has now; nil if that cannot be encoded.
    mutating func noteSetting(_ column: String, shown: DatabaseValue?) {
      guard case .unread(_, let before) = values?[column], before != shown else { return }
      values?[column] = nil
    }

    /// Returns what to write for a property that shows `shown`. `encoded` gives a text that was read as the record
    /// would have written it.
    func stored(
      for column: String, shown: DatabaseValue, _ encoded: (DatabaseValue) throws -> DatabaseValue?
    ) rethrows -> DatabaseValue {
      switch values?[column] {
      case .unread(let stored, let before) where before == shown: return stored
      case .json(let stored):
        guard let before = try encoded(stored) else { return shown }
        guard before != shown else { return stored }
        guard let texts = (stored.text, before.text, shown.text) as? (String, String, String),
          let text = JSONText.change(texts.0, from: texts.1, to: texts.2)
        else { return shown }
        return text.databaseValue
      case .unread, nil: return shown
      }
    }
  }

  extension DatabaseValue {
    fileprivate var text: String? { String.fromDatabaseValue(self) }
  }

  extension UnreadValues: Hashable {
    /// Always true: records that show the same are equal.
    public static func == (lhs: UnreadValues, rhs: UnreadValues) -> Bool { true }
    /// Adds nothing, as equality does not compare it.
    public func hash(into hasher: inout Hasher) {}
  }

  extension UnreadValues: Codable {
    /// Reads nothing: values that could not be read are no part of a record's `Codable` form.
    public init(from decoder: any Decoder) throws { self.init() }
    /// Writes nothing, since reading takes nothing.
    public func encode(to encoder: any Encoder) throws {}
  }

  extension KeyedDecodingContainer {
    /// Nothing: a record that is `Codable` too needs no key for what it could not read.
    public func decode(_ type: UnreadValues.Type, forKey key: Key) throws -> UnreadValues { UnreadValues() }
  }

  extension KeyedEncodingContainer {
    /// Writes nothing, not even a key.
    public mutating func encode(_ value: UnreadValues, forKey key: Key) throws {}
  }
#endif
