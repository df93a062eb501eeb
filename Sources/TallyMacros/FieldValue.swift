#if Macros
  import Foundation
  import GRDB
  import TallyStore

  /// A Swift type with a kind of column of its own.
  ///
  /// The types of GRDB's columns conform: `String`, `Bool`, the integers up to 64 bits, `Float`, `Double`, `Date`,
  /// `Data`, `UUID`, `URL` and `Decimal`. Conform your own value type, if all of its database values have one storage
  /// class, to use it for properties of an `@Entity`:
  ///
  /// ```swift
  /// struct Color: DatabaseValueConvertible, FieldValue {
  ///   static var fieldKind: FieldKind { .integer }
  ///   var rgb: Int
  ///   var databaseValue: DatabaseValue { rgb.databaseValue }
  ///   static func fromDatabaseValue(_ value: DatabaseValue) -> Color? {
  ///     Int.fromDatabaseValue(value).map(Color.init)
  ///   }
  /// }
  /// ```
  ///
  /// An enum with a raw value needs no conformance, nor does a `Codable` type that is stored as JSON.
  ///
  /// A value that `fromDatabaseValue(_:)` refuses is read as the property's default, so the function must not trap. The
  /// result of `databaseValue` must have the kind's storage class: a store refuses to commit anything else.
  public protocol FieldValue: DatabaseValueConvertible, Sendable {
    /// The kind of a column of this type. It must never change: a field of another kind is another field.
    static var fieldKind: FieldKind { get }
  }

  extension String: FieldValue {
    /// A column of text, stored unchanged.
    public static var fieldKind: FieldKind { .text }
  }
  extension AssetName: FieldValue {
    /// A column of the names of files beside the store.
    public static var fieldKind: FieldKind { .asset }
  }
  extension Bool: FieldValue {
    /// A column of 0 for false and 1 for true.
    public static var fieldKind: FieldKind { .bool }
  }
  extension Int: FieldValue {
    /// A column of SQLite's integers, of up to 64 bits.
    public static var fieldKind: FieldKind { .integer }
  }
  extension Int8: FieldValue {
    /// A column of SQLite's integers, of up to 64 bits.
    public static var fieldKind: FieldKind { .integer }
  }
  extension Int16: FieldValue {
    /// A column of SQLite's integers, of up to 64 bits.
    public static var fieldKind: FieldKind { .integer }
  }
  extension Int32: FieldValue {
    /// A column of SQLite's integers, of up to 64 bits.
    public static var fieldKind: FieldKind { .integer }
  }
  extension Int64: FieldValue {
    /// A column of SQLite's integers, of up to 64 bits.
    public static var fieldKind: FieldKind { .integer }
  }
  extension UInt8: FieldValue {
    /// A column of SQLite's integers, of up to 64 bits.
    public static var fieldKind: FieldKind { .integer }
  }
  extension UInt16: FieldValue {
    /// A column of SQLite's integers, of up to 64 bits.
    public static var fieldKind: FieldKind { .integer }
  }
  extension UInt32: FieldValue {
    /// A column of SQLite's integers, of up to 64 bits.
    public static var fieldKind: FieldKind { .integer }
  }
  extension Float: FieldValue {
    /// A column of SQLite's floating-point numbers.
    public static var fieldKind: FieldKind { .real }
  }
  extension Double: FieldValue {
    /// A column of SQLite's floating-point numbers.
    public static var fieldKind: FieldKind { .real }
  }
  extension Date: FieldValue {
    /// A column of dates, to the millisecond.
    public static var fieldKind: FieldKind { .date }
  }
  extension Data: FieldValue {
    /// A column of bytes, stored unchanged.
    public static var fieldKind: FieldKind { .blob }
  }
  extension UUID: FieldValue {
    /// A column of sixteen bytes, as GRDB stores them.
    public static var fieldKind: FieldKind { .uuid }
  }
  extension URL: FieldValue {
    /// A column of text: the absolute string.
    public static var fieldKind: FieldKind { .text }
  }
  extension Decimal: FieldValue {
    /// A column of text: the digits, without loss.
    public static var fieldKind: FieldKind { .text }
  }
#endif
