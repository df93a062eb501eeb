// swift-format-ignore-file
// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run.

import Foundation
import Observation
import Tally
import TallyStore
import TallySync
import TallyImport
import TallyRecovery
import TallyRelay
import TallyTesting
import Testing

@testable import Pantry
@testable import struct Pantry.Tag

#if Macros
  import TallyMacros
#endif
#if Inspector
  import TallyInspector
#endif
#if Network
  import TallyNetwork
#endif
#if canImport(CloudKit)
  import CloudKit
  import TallyCloudKit
#endif

#if Macros
// Sources/TallyMacros/FieldValue.swift
private enum Sources_TallyMacros_FieldValue_swift_1 {
struct Color: DatabaseValueConvertible, FieldValue {
  static var fieldKind: FieldKind { .integer }
  var rgb: Int
  var databaseValue: DatabaseValue { rgb.databaseValue }
  static func fromDatabaseValue(_ value: DatabaseValue) -> Color? {
    Int.fromDatabaseValue(value).map(Color.init)
  }
}
}
#endif

#if Macros
// Sources/TallyMacros/Macros.swift
private enum Sources_TallyMacros_Macros_swift_1 {
@Entity struct Person {
  var id = RecordName<Person>()
  var name = ""
}

@Entity("BoardGame") struct Game {
  enum Level: String { case easy, hard }

  var id = RecordName<Game>()
  var title = ""
  var minutes: Int?
  var level: Level = .easy
  var boughtAt = Date()
  @Field(onDelete: .cascade) var owner: RecordName<Person>?
  @Members static var players: Relationship<Game, Person>
}
}
#endif

#if Macros
// Sources/TallyMacros/Macros.swift
private enum Sources_TallyMacros_Macros_swift_2 {
@Entity struct Score {
  var id = RecordName<Score>()
  @Field(renamedFrom: "value") var points = 0
  @Field(from: .lens("price", .real, .scale(100))) var cents: Int?
  @Field(onDelete: .cascade) var game: RecordName<Game>?
}
}
#endif

#if Macros
// Sources/TallyMacros/Macros.swift
private enum Sources_TallyMacros_Macros_swift_3 {
@Entity struct Errand {
  enum State: String, CaseIterable { case open, done }

  var id = RecordName<Errand>()
  @Field(unknown: State.open) var state: State = .open
}
}
#endif

#if Macros
// Sources/TallyMacros/Macros.swift
private enum Sources_TallyMacros_Macros_swift_4 {
@Entity struct Game {
  var id = RecordName<Game>()
  @Field(.counter) var score = 0
}
}
#endif

#if Macros
// Sources/TallyMacros/Macros.swift
private enum Sources_TallyMacros_Macros_swift_5 {
@Entity struct Club {
  var id = RecordName<Club>()
  @Members static var members: Relationship<Club, Person>
}
}
#endif
