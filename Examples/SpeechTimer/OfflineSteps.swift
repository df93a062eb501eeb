/// Something that happens while nobody has a network.
struct OfflineStep {
  let what: String
  let perform: (Group) throws -> Void

  /// All that happens before any two of the devices have met.
  static var all: [OfflineStep] {
    [
      OfflineStep(what: "Ann and Ben install the first release of the app.") { group in
        try group.install(.ann, release: 1)
        try group.install(.ben, release: 1)
      },
      OfflineStep(what: "Ann calls the toast Cheers: from now on it is hers.") { group in
        try group.device(.ann).edit("toast") { $0.name = "Cheers" }
      },
      OfflineStep(what: "Ben deletes the pitch.") { group in try group.device(.ben).delete("pitch") },
      OfflineStep(
        what: """
          Ann installs the second release. It shortens toasts, but hers is hers; it makes eulogies purple, adds lightning talks \
          and retires roasts and debates.
          """
      ) { group in try group.device(.ann).update(to: 2) },
      OfflineStep(what: "Cleo joins. She has never had anything but the second release.") { group in
        try group.install(.cleo, release: 2)
      },
      OfflineStep(what: "Dan joins with a phone that runs the first release only, and makes debates longer.") { group in
        try group.install(.dan, release: 1)
        try group.device(.dan).edit("debate") { $0.seconds = 900 }
      },
    ]
  }
}

extension Group {
  /// The devices as they are when everything has happened offline.
  static func afterOfflineSteps() throws -> Group {
    let group = Group()
    for step in OfflineStep.all { try step.perform(group) }
    return group
  }
}
