import TallyCRDT

/// The way in which a record is shown while another record holds the value of its unique field.
///
/// Two devices can give one value to two records, each without knowing of the other. The state keeps both values. The
/// states decide which record shows the value, so all devices show the same one: the **holder**, which has the oldest
/// claim. The policy applies to the other records. Nothing is written: once the holder has another value or is gone,
/// the next record shows the value that it had all along.
public enum UniquePolicy: String, Sendable, Codable, CaseIterable {
  /// The field is null, and the app can ask for another value.
  case clear
  /// The value with a short suffix, which is the same on every device: `Work ~k3xa`. Only for one text field.
  case rename
  /// As ``rename``, until `Store.mergeDuplicates()` makes one record of them. Only for one text field of an entity
  /// without owners, counters, or fields that keep the greatest or the least value.
  case merge
  /// Neither the record nor the records that it owns are shown. A unique index of the app's own works this way.
  case hide

  /// Whether a record shows its text with a suffix while another one holds it.
  package var isRenaming: Bool { self == .rename || self == .merge }
}

/// Fields whose values, taken together, no two records show at the same time.
///
/// ```swift
/// static let schema = EntitySchema("Shop", unique: [.on("name", .rename)], .text("name"))
/// ```
///
/// The store keeps a UNIQUE index over the columns. On the device that attempts to write a value that another record
/// shows, SQL therefore refuses the write: it throws a `DatabaseError` with `SQLITE_CONSTRAINT_UNIQUE` and changes
/// nothing. Null is not a value: any number of records may have none. Texts are compared byte by byte.
///
/// The rule is part of the view, not of the state: a release may add, change or remove it, and a device whose schema
/// does not have it shows both records with the value that they have.
public struct UniqueRule: Sendable, Hashable, Codable {
  /// The names of the fields.
  public var fields: [String]
  /// The policy for the records that are not the holder.
  public var policy: UniquePolicy

  /// Creates a rule for fields by their names. Mistakes are reported when a store is opened
  /// (`StoreError.invalidSchema`).
  public init(fields: [String], policy: UniquePolicy = .clear) { (self.fields, self.policy) = (fields, policy) }

  /// Creates a rule for one field.
  ///
  /// ```swift
  /// let shop = EntitySchema("Shop", unique: [.on("name", .rename)], .text("name"))
  /// ```
  /// - Parameters:
  ///   - field: the name of a field without a default.
  ///   - policy: what the records that are not the holder show; by default null.
  /// - Returns: the rule, for a schema.
  public static func on(_ field: String, _ policy: UniquePolicy = .clear) -> UniqueRule {
    UniqueRule(fields: [field], policy: policy)
  }

  /// Creates a rule for several fields whose values together are unique.
  ///
  /// ```swift
  /// let seat = EntitySchema("Seat", unique: [.on(["room", "number"])], .text("room"), .integer("number"))
  /// ```
  /// - Parameters:
  ///   - fields: the names of fields without defaults. In a record that is not the holder the last of them is null.
  ///   - policy: what the records that are not the holder show: ``UniquePolicy/clear`` or ``UniquePolicy/hide``.
  /// - Returns: the rule, for a schema.
  public static func on(_ fields: [String], _ policy: UniquePolicy = .clear) -> UniqueRule {
    UniqueRule(fields: fields, policy: policy)
  }

  private enum CodingKeys: CodingKey { case fields, policy }

  /// Decodes a rule; without a policy it is ``UniquePolicy/clear``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decodeIfPresent(String.self, forKey: .policy) ?? UniquePolicy.clear.rawValue
    guard let policy = UniquePolicy(rawValue: name) else {
      let known = UniquePolicy.allCases.map(\.rawValue).joined(separator: ", ")
      throw StoreError(.invalidSchema, "unknown policy \(printable(name)) of a unique rule; expected one of \(known)")
    }
    self.init(fields: try container.decode([String].self, forKey: .fields), policy: policy)
  }
}

extension UniqueRule {
  /// The most fields of a rule.
  static let maximumFields = 16

  /// The name of the index that keeps it.
  package func indexName(_ type: String) -> String { Self.indexPrefix(type) + fields.joined(separator: ".") }

  /// What the names of a type's indexes of rules begin with.
  package static func indexPrefix(_ type: String) -> String { "tally_unique.\(type)." }
}

extension EntitySchema {
  /// - Throws: `StoreError.invalidSchema` with the first rule that cannot be kept.
  func checkUnique() throws(StoreError) {
    var taken = Set<String>()
    for rule in unique {
      let label = "the unique rule of \(type) on \(rule.fields.map(printable).joined(separator: ", "))"
      guard (1...UniqueRule.maximumFields).contains(rule.fields.count) else {
        throw StoreError(.invalidSchema, "a unique rule of \(type) must have 1 to \(UniqueRule.maximumFields) fields")
      }
      for name in rule.fields {
        guard taken.insert(name).inserted else {
          throw StoreError(.invalidSchema, "\(label): a field stands in one rule, and once")
        }
        try check(name, label)
      }
      guard rule.policy.isRenaming else { continue }
      guard rule.fields.count == 1, fields.first(where: { $0.name == rule.fields[0] })?.kind == .text else {
        throw StoreError(.invalidSchema, "\(label): the policy \(rule.policy.rawValue) is for one text field")
      }
      if rule.policy == .merge { try checkMerge(label) }
    }
  }

  /// Records that become one: what an owner deletes must not take another owner's records along, and a sum of two
  /// counters would count twice where two devices made it.
  private func checkMerge(_ label: String) throws(StoreError) {
    if let owner = references.first(where: { if case .cascade = $0.onDelete { true } else { false } }) {
      throw StoreError(
        .invalidSchema, "\(label): the policy merge is for records that no other owns, as \(printable(owner.name)) says"
      )
    }
    if let field = fields.first(where: { $0.fieldKind != .field }) {
      throw StoreError(
        .invalidSchema,
        "\(label): the policy merge is for records without counters and fields that keep the greatest "
          + "or the least value, and \(printable(field.name)) is one")
    }
  }

  private func check(_ name: String, _ label: String) throws(StoreError) {
    guard let field = fields.first(where: { $0.name == name }) else {
      // Whether a record is there would depend on which of two is shown.
      if references.contains(where: { $0.name == name }) {
        throw StoreError(.invalidSchema, "\(label): \(printable(name)) is a reference, and must be a field")
      }
      throw StoreError(.invalidSchema, "\(label): \(type) has no field \(printable(name))\(hint(forField: name))")
    }
    // Every record that was never given a value would claim it.
    guard field.defaultValue.isNull else {
      throw StoreError(.invalidSchema, "\(label): \(printable(name)) has a default, which every new record would claim")
    }
    guard field.kind != .real else {
      throw StoreError(.invalidSchema, "\(label): \(printable(name)) is a real, which has no exact value")
    }
  }
}

extension Schema {
  /// Whether any entity has fields that are unique.
  package var hasUniqueRules: Bool { entities.contains { !$0.unique.isEmpty } }
}
