import Tally

/// The Chinook music store: ten types, one true many-to-many relationship, a self-reference, and every delete rule.
///
/// Prices are reals because the source has them as decimal numbers; a double holds each of them exactly as written.
enum Chinook {
  static let schema = Schema([
    EntitySchema("Artist", .text("name")),
    // An artist owns the albums, an album the tracks.
    EntitySchema("Album", .text("title"), .reference("artist", to: "Artist", onDelete: .cascade)),
    EntitySchema("Genre", .text("name")),
    EntitySchema("MediaType", .text("name")),
    EntitySchema(
      "Track",
      .text("name"), .text("composer"), .integer("milliseconds"), .integer("bytes"), .real("unit_price"),
      .reference("album", to: "Album", onDelete: .cascade),
      .reference("genre", to: "Genre"),
      .reference("mediatype", to: "MediaType", onDelete: .deny)),
    EntitySchema("Playlist", .text("name"), .toMany("tracks", to: "Track")),
    EntitySchema(
      "Employee",
      .text("firstname"), .text("lastname"), .text("title"), .date("birthdate"), .date("hiredate"),
      .text("address"), .text("city"), .text("state"), .text("country"), .text("postalcode"),
      .text("phone"), .text("fax"), .text("email"),
      .reference("reports_to", to: "Employee")),
    EntitySchema(
      "Customer",
      .text("firstname"), .text("lastname"), .text("company"),
      .text("address"), .text("city"), .text("state"), .text("country"), .text("postalcode"),
      .text("phone"), .text("fax"), .text("email"),
      .reference("support_rep", to: "Employee")),
    // What was sold stays in the books when the customer or the track goes.
    EntitySchema(
      "Invoice",
      .date("invoicedate"), .real("total"),
      .text("billingaddress"), .text("billingcity"), .text("billingstate"), .text("billingcountry"),
      .text("billingpostalcode"),
      .reference("customer", to: "Customer")),
    EntitySchema(
      "InvoiceLine",
      .integer("quantity"), .real("unit_price"),
      .reference("invoice", to: "Invoice", onDelete: .cascade),
      .reference("track", to: "Track")),
  ])

  /// The fixture's models and the types that they become. A playlisttrack becomes a link of its playlist.
  static let types = [
    "artist": "Artist", "album": "Album", "genre": "Genre", "mediatype": "MediaType", "track": "Track",
    "playlist": "Playlist", "employee": "Employee", "customer": "Customer", "invoice": "Invoice",
    "invoiceline": "InvoiceLine",
  ]

  /// The types in rounds: a round refers only to earlier ones. Self-references and links come after all of them.
  static let rounds = [
    ["Artist", "Genre", "MediaType", "Employee", "Playlist"],
    ["Album", "Customer"],
    ["Track", "Invoice"],
    ["InvoiceLine"],
  ]
}
