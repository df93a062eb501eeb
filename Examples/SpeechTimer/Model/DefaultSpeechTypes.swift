import Tally
import TallyStore

/// The speech types that the app ships.
///
/// A real app has only its newest version here; the story needs both, as two releases of the app.
enum DefaultSpeechTypes {
  /// The set's name and the keys are the records' identity. They never change, and nobody reads them on a screen.
  static let set = "speech-types"

  /// As the first release of the app has them.
  static let version1 = SeedSet(
    set, version: 1,
    records: [
      SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120, "color": "yellow"]),
      SeedRecord("eulogy", of: SpeechType.self, ["name": "Eulogy", "seconds": 600, "color": "blue"]),
      SeedRecord("pitch", of: SpeechType.self, ["name": "Pitch", "seconds": 180, "color": "green"]),
      SeedRecord("roast", of: SpeechType.self, ["name": "Roast", "seconds": 300, "color": "red"]),
      SeedRecord("debate", of: SpeechType.self, ["name": "Debate", "seconds": 420, "color": "cyan"]),
    ])

  /// The second release: toasts are shorter, eulogies have another color, lightning talks are new, roasts and debates
  /// are retired.
  static let version2 = SeedSet(
    set, version: 2,
    records: [
      SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 90, "color": "yellow"]),
      SeedRecord("eulogy", of: SpeechType.self, ["name": "Eulogy", "seconds": 600, "color": "purple"]),
      SeedRecord("pitch", of: SpeechType.self, ["name": "Pitch", "seconds": 180, "color": "green"]),
      SeedRecord("lightning", of: SpeechType.self, ["name": "Lightning", "seconds": 300, "color": "cyan"]),
    ],
    retired: [SeedKey("roast", of: SpeechType.self), SeedKey("debate", of: SpeechType.self)])

  /// The keys in the order in which the app lists them.
  static let keys = ["toast", "eulogy", "pitch", "roast", "debate", "lightning"]

  /// The record of a key, known without asking the database.
  static func id(_ key: String) -> RecordName<SpeechType> { RecordName(seed: key, of: set) }
}
