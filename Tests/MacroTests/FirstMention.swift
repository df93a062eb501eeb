#if Macros
  import Foundation
  import Tally

  // Each entity is declared in another file, and what stands here is the first that the compiler reads of it: the name
  // of this file comes before that one's. What the macro's conformances imply has to be found all the same.
  enum FirstMention {
    static func count(_ db: Database) throws -> Int { try FirstCounted.fetchCount(db) }
    static func titles(_ db: Database) throws -> [String] {
      try String.fetchAll(db, FirstSelected.select(Column("title")))
    }
    static func find(_ db: Database, _ id: FirstNamed.ID) throws -> FirstNamed? { try FirstNamed.fetchOne(db, id: id) }
    static func rename(_ db: Database, _ record: FirstSaved) throws {
      var record = record
      try record.updateChanges(db) { $0.title += "!" }
    }
    static func ids(_ records: [FirstIdentified]) -> Set<FirstIdentified.ID> { Set(records.map(\.id)) }
  }
#endif
