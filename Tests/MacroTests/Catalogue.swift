#if Macros
  import Foundation
  import Tally
  import TallyCRDT
  import TallyMacros

  enum Mood: String, Codable { case good, bad }

  enum Rank: Int {
    case low = 1
    case high = 2
  }

  struct Address: Codable, Hashable { var street = "", numbers: [Int] = [] }

  @Entity("TestPerson") struct Person: Equatable {
    var id = RecordName<Person>()
    var name = ""
    var friend: Person.ID?
    var home: RecordName<House>?
  }

  @Entity(unique: [.on("code"), .on("name", .rename)]) struct Badge: Equatable {
    var id = RecordName<Badge>()
    var name: String?
    var code: Int?
  }

  @Entity(deleteWins: true, follows: .perField) struct House: Equatable {
    var id = RecordName<House>()
    var title: String = "House"
    var rooms: Int?
    var floors: Int = -1
    var size = 1.5
    var isSold = false
    var mood: Mood = .good
    var rank: Rank = Rank.low
    var lastMood: Mood?
    var built = Date(timeIntervalSince1970: 0)
    var sold: Date?
    var token = UUID()
    var plan: Data = Data()
    var address: Address = Address()
    var tags: [String] = []
    var notes: [String: Int]?
    var site: URL?
    @Field(renamedFrom: "cost") var price: Decimal = 0
    @Field(onDelete: .cascade, isIndexed: false) var owner: RecordName<Person>?
    @Field(within: "owner") var place: ListPosition?
    @Members(ordered: true) static var guests: Relationship<House, Person>
    @Members static var tenants: Relationship<House, Person>

    var isLarge: Bool { size > 100 }
    static let limit = 3
  }

  enum Stage: String { case open, done, paid }

  @Entity struct Errand: Equatable {
    var id = RecordName<Errand>()
    @Field(from: .lens("price", .real, .scale(100))) var cents: Int?
    @Field(from: .lens("done", .bool, default: false, .map([false: "open", true: "done", true: "paid"])))
    var stage: Stage = .open
    @Field(renamedFrom: "place", from: .lens("shelf", .text, default: "1", .digits, keepsOldApps: false)) var aisle = 1
    @Field(from: .lens("mood", .integer, .map([1: "good", 2: "bad"]))) var feeling: Mood?
  }

  enum Route: String, CaseIterable { case post, bike, other }

  @Entity struct Parcel: Equatable {
    var id = RecordName<Parcel>()
    var title = ""
    @Field(unknown: Route.other) var route: Route = .post
    @Field(unknown: Route.other, renamedFrom: "back", from: .lens("returned", .bool, .map([true: "post"])))
    var wayBack: Route?
  }

  @Entity struct Match: Equatable {
    var id = RecordName<Match>()
    @Field(.counter) var score = 0
    @Field(.counter, renamedFrom: "goals") var hits: Int = 3
    @Field(.greatest) var best = 0
    @Field(.least, renamedFrom: "quickest") var fastest: Double?
  }
#endif
