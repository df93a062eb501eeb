#if Macros
  import GRDB

  /// The values in a record's row that the record cannot represent, such as an enum's case that a newer version of the
  /// app has.
  ///
  /// Saving the record writes them back as they were, unless the property was set since: an older version of an app
  /// must not overwrite what it cannot read. They play no part in whether two records are equal, nor in what `Codable`
  /// writes.
  public struct UnreadValues: Sendable {
    private struct Unread {
      /// The value in the row.
      var stored: DatabaseValue
      /// The value that the record shows instead.
      var shown: DatabaseValue
    }

    /// Nil in nearly all records.
    private var values: [String: Unread]?

    /// The values of a record that was not read from a row: none.
    public init() {}

    mutating func keep(_ stored: DatabaseValue, shown: DatabaseValue, for column: String) {
      values = values ?? [:]
      values?[column] = Unread(stored: stored, shown: shown)
    }

    func stored(for column: String, shown: DatabaseValue) -> DatabaseValue {
      guard let unread = values?[column], unread.shown == shown else { return shown }
      return unread.stored
    }
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
