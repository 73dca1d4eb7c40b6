// node make.cjs OUT, after: npm install apache-arrow@21.2.0 arrow-0.17@npm:apache-arrow@0.17.0
// arrow-0.13@npm:apache-arrow@0.13.0. See make.py.
const fs = require('fs');
const out = process.argv[2];
const a = require('apache-arrow');
const t = new a.Table({
  id: a.vectorFromArray(['a', 'b', 'c', 'd', 'e'], new a.Utf8),
  x: a.vectorFromArray([1.5, null, -2, 0, 1e300], new a.Float64),
  level: a.vectorFromArray(['low', 'mid', 'low', null, 'high'], new a.Dictionary(new a.Utf8, new a.Int8)),
  at: a.vectorFromArray([0, 1000, null, 1700000000000, 5], new a.TimestampMillisecond),
});
fs.writeFileSync(out + '/js-21.arrow', a.tableToIPC(t, 'file'));
fs.writeFileSync(out + '/js-21.arrows', a.tableToIPC(t, 'stream'));
for (const version of ['0.17', '0.13']) {
  const b = require('arrow-' + version);
  const u = b.Table.new([b.Utf8Vector.from(['a', 'b', 'c', 'd', 'e']), b.Float64Vector.from([1.5, 7, -2, 0, 1e300])],
    ['id', 'x']);
  fs.writeFileSync(`${out}/js-${version}.arrow`, u.serialize('binary', false));
  fs.writeFileSync(`${out}/js-${version}.arrows`, u.serialize('binary', true));
}
