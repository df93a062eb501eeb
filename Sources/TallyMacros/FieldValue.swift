#if Macros
  import Foundation
  import GRDB
  import TallyStore

  /// A Swift type that has a kind of column of its own.
  ///
  /// The types of GRDB's columns have it: `String`, `Bool`, the integers up to 64 bits, `Float`, `Double`, `Date`,
  /// `Data`, `UUID`, `URL` and `Decimal`. Conform a value type of yours whose database values are of one storage class,
  /// and properties of an `@Entity` may have it:
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
  /// An enum with a raw value needs no conformance, nor does a `Codable` type that is to be kept as JSON.
  ///
  /// A value that `fromDatabaseValue(_:)` refuses reads as the property's default, so it must not trap. The result of
  /// `databaseValue` must be of the kind's storage class: a store refuses to commit anything else.
  public protocol FieldValue: DatabaseValueConvertible, Sendable {
    /// The kind of a column of this type. It never changes: a field of another kind is another field.
    static var fieldKind: FieldKind { get }
  }

  extension String: FieldValue {
    /// Text.
    public static var fieldKind: FieldKind { .text }
  }
  extension Bool: FieldValue {
    /// 0 or 1.
    public static var fieldKind: FieldKind { .bool }
  }
  extension Int: FieldValue {
    /// An integer.
    public static var fieldKind: FieldKind { .integer }
  }
  extension Int8: FieldValue {
    /// An integer.
    public static var fieldKind: FieldKind { .integer }
  }
  extension Int16: FieldValue {
    /// An integer.
    public static var fieldKind: FieldKind { .integer }
  }
  extension Int32: FieldValue {
    /// An integer.
    public static var fieldKind: FieldKind { .integer }
  }
  extension Int64: FieldValue {
    /// An integer.
    public static var fieldKind: FieldKind { .integer }
  }
  extension UInt8: FieldValue {
    /// An integer.
    public static var fieldKind: FieldKind { .integer }
  }
  extension UInt16: FieldValue {
    /// An integer.
    public static var fieldKind: FieldKind { .integer }
  }
  extension UInt32: FieldValue {
    /// An integer.
    public static var fieldKind: FieldKind { .integer }
  }
  extension Float: FieldValue {
    /// A double.
    public static var fieldKind: FieldKind { .real }
  }
  extension Double: FieldValue {
    /// A double.
    public static var fieldKind: FieldKind { .real }
  }
  extension Date: FieldValue {
    /// A date, to the millisecond.
    public static var fieldKind: FieldKind { .date }
  }
  extension Data: FieldValue {
    /// Bytes.
    public static var fieldKind: FieldKind { .blob }
  }
  extension UUID: FieldValue {
    /// Sixteen bytes.
    public static var fieldKind: FieldKind { .uuid }
  }
  extension URL: FieldValue {
    /// The absolute string.
    public static var fieldKind: FieldKind { .text }
  }
  extension Decimal: FieldValue {
    /// Digits.
    public static var fieldKind: FieldKind { .text }
  }
#endif
