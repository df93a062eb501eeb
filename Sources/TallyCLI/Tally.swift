import GRDB

@main struct M { static func main() {} }
