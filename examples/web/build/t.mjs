import fs from 'fs';
for (const f of ['a','b','c']) for (const n of [20,80,200]) {
 const {instance:{exports:e}} = await WebAssembly.instantiate(fs.readFileSync('build/'+f+'.wasm'));
 const t=performance.now();
 let s=e.web_start(n,1,30,2.5,3,.35,.6); let k=0,mx=0;
 while(s==0||s==1){ const q=performance.now(); s=e.web_step(1); k++; mx=Math.max(mx,performance.now()-q); if(s==0)break;}
 const c=e.web_check(); 
 console.log(f,n,s,c,k,'max unit ms',mx.toFixed(2),(performance.now()-t).toFixed(0)+' ms', [...new Float64Array(e.memory.buffer,e.web_verdict(),10)].map(x=>+x.toPrecision(5)).join(' '));
}
