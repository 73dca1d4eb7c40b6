package config

import "time"

// Scoring bounds the requests for scores at once: POST /v1/score and /v2/models/NAME/infer of the endpoint. They are
// answered by the state of the running stage, and change nothing. `score: off` answers none.
type Scoring struct {
	Switch
	// Rows is the most records of one request; larger ones are refused. Default 1000.
	Rows int `yaml:"rows"`
	// Body is the most bytes of one request; larger ones are refused. Default 4MiB.
	Body ByteSize `yaml:"body"`
	// Requests is the number of requests that are worked on at a time; further ones are refused. Default 16.
	Requests int `yaml:"requests"`
	// Rate is the number of records a second, over all requests, beyond which requests are refused. Default 2000, which
	// leaves a stage of a usual record most of a core; 0 = no bound.
	Rate int `yaml:"rate"`
	// Wait is how long a request waits for its partitions, one part after the other, all together; then it is refused.
	// Default 1s.
	Wait Duration `yaml:"wait"`
}

func defaultScoring() Scoring {
	return Scoring{Rows: 1000, Body: 4 << 20, Requests: 16, Rate: 2000, Wait: Duration(time.Second)}
}
