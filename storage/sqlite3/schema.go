package sqlite3

// schemaVersion is the newest schema of rosbag2 (Iron and later), the one that is written. It has all that the older ones
// have, and their readers name the columns that they read: rosbag2 of Foxy to Humble opens it. What such a reader could not
// read is only the words of offered_qos_profiles, which storage.CreateOptions.MetadataVersion turns into numbers.
const schemaVersion = 4

// tables are the statements that make an empty file of schema version 4, in the words of rosbag2.
func tables() []string {
	return []string{
		"CREATE TABLE schema(schema_version INTEGER PRIMARY KEY,ros_distro TEXT NOT NULL)",
		"CREATE TABLE metadata(id INTEGER PRIMARY KEY,metadata_version INTEGER NOT NULL,metadata TEXT NOT NULL)",
		"CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL," +
			"serialization_format TEXT NOT NULL,offered_qos_profiles TEXT NOT NULL,type_description_hash TEXT NOT NULL)",
		"CREATE TABLE message_definitions(id INTEGER PRIMARY KEY,topic_type TEXT NOT NULL,encoding TEXT NOT NULL," +
			"encoded_message_definition TEXT NOT NULL,type_description_hash TEXT NOT NULL)",
		"CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,timestamp INTEGER NOT NULL, " +
			"data BLOB NOT NULL)",
		"CREATE INDEX timestamp_idx ON messages (timestamp ASC)",
	}
}
