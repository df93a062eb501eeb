import TallyCRDT

/// A piece of a delta: items of several types, with dictionaries of what they share.
///
/// A block's bytes are canonical: the same items give the same bytes, in any order of adding them. Types,
/// relationships, records and links are each there once; a writer that adds one twice makes bytes that readers refuse.
/// `Docs/WireFormat.md` describes them.
public struct DeltaBlock: Hashable, Sendable {
  /// A record, and the part of its state that the delta carries. Its `FieldID`s count into the group's `fields`.
  public struct Record: Hashable, Sendable {
    /// The whole name of the record.
    public var name: AnyRecordName
    /// The cells of the record that the delta carries.
    public var state: RecordState
    /// A record of a group.
    public init(name: AnyRecordName, state: RecordState) {
      self.name = name
      self.state = state
    }
  }

  /// The records of one type.
  public struct Records: Hashable, Sendable {
    /// The type that all records of the group have.
    public var type: String
    /// The keys (`FieldKey`) of the fields that the records' cells refer to by place, without repetition; at most
    /// `WireLimits.fields`. Those that no cell uses are not written.
    public var fields: [String]
    /// The records of the group, with their cells.
    public var items: [Record]
    /// Creates a group of records of one type.
    public init(type: String, fields: [String], items: [Record]) {
      self.type = type
      self.fields = fields
      self.items = items
    }
  }

  /// An element of a relationship of one record.
  public struct Link: Hashable, Sendable {
    /// The record that has the relationship.
    public var source: AnyRecordName
    /// The name of the record that the link leads to.
    public var target: AnyRecordName
    /// The tags of the link that the delta carries.
    public var element: ORSetElement
    /// A link of a group.
    public init(source: AnyRecordName, target: AnyRecordName, element: ORSetElement) {
      self.source = source
      self.target = target
      self.element = element
    }
  }

  /// The links of one relationship.
  public struct Links: Hashable, Sendable {
    /// The type that has the relationship.
    public var source: String
    /// The name of the relationship that the links belong to.
    public var relationship: String
    /// The type of its elements.
    public var target: String
    /// The links of the group, with their tags.
    public var items: [Link]
    /// Creates a group of links of one relationship.
    public init(source: String, relationship: String, target: String, items: [Link]) {
      self.source = source
      self.relationship = relationship
      self.target = target
      self.items = items
    }
  }

  /// The records of the block, grouped by type.
  public var records: [Records]
  /// The links of the block, grouped by relationship.
  public var links: [Links]

  /// Creates a block from groups of records and links.
  public init(records: [Records] = [], links: [Links] = []) {
    self.records = records
    self.links = links
  }

  /// Whether there is nothing in the block.
  public var isEmpty: Bool { records.allSatisfy { $0.items.isEmpty } && links.allSatisfy { $0.items.isEmpty } }
}
