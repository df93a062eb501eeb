#if Macros
  import Foundation
  import Tally
  import TallyMacros
  import Testing

  @Entity struct FirstCounted {
    var id = RecordName<FirstCounted>()
  }

  @Entity struct FirstSelected {
    var id = RecordName<FirstSelected>()
    var title = ""
  }

  @Entity struct FirstNamed: Equatable {
    var id = RecordName<FirstNamed>()
  }

  @Entity struct FirstSaved {
    var id = RecordName<FirstSaved>()
    var title = ""
  }

  @Entity struct FirstIdentified {
    var id = RecordName<FirstIdentified>()
  }

  /// That it compiles is most of it.
  @Suite struct FirstMentionTests {
    @Test func anotherFileUsesAnEntityWithoutMentioningItBefore() throws {
      let store = try Store(
        inMemory: Schema(FirstCounted.self, FirstSelected.self, FirstNamed.self, FirstSaved.self, FirstIdentified.self))
      let (named, saved, identified) = (FirstNamed(), FirstSaved(title: "a"), FirstIdentified())
      try store.write { db in
        try FirstCounted().insert(db)
        try FirstSelected(title: "b").insert(db)
        try named.insert(db)
        try saved.insert(db)
        try FirstMention.rename(db, saved)
      }
      let (count, titles, found, renamed) = try store.read { db in
        (
          try FirstMention.count(db), try FirstMention.titles(db), try FirstMention.find(db, named.id),
          try FirstSaved.fetchOne(db)?.title
        )
      }
      #expect(count == 1)
      #expect(titles == ["b"])
      #expect(found == named)
      #expect(renamed == "a!")
      #expect(FirstMention.ids([identified]) == [identified.id])
    }
  }
#endif
